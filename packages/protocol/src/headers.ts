/** Headers of a webhook request. */
export const USER_AGENT = "Sluice/1.0";
export const SIGNATURE_HEADER = "X-Signature";
export const MESSAGE_ID_HEADER = "X-Message-Id";
export const ATTEMPT_HEADER = "X-Attempt";

/** The number of earlier attempts; only on retries. */
export const RETRY_COUNT_HEADER = "X-Retry-Count";
