/** One kilobyte, in bytes. */
export const KB = 1_024;

/** The limits of the ingestion API and of webhooks. Sizes are bytes of UTF-8 JSON, inclusive. */
export const LIMITS = {
  /** One message as received: 32 KB. */
  messageBytes: 32 * KB,
  /** One batch request, uncompressed, with its envelope: 500 KB. */
  batchBytes: 500 * KB,
  /** Messages in one batch request. */
  batchMessages: 2_500,
  /** A `messageId` must be shorter than this many characters. */
  messageIdLength: 100,
  /** Webhook URLs of one destination. */
  webhooksPerDestination: 5,
  /** One webhook request with connect, TLS, headers and body, in milliseconds. */
  webhookTimeoutMs: 5_000,
  /** The time from the first to the last attempt of a delivery, in milliseconds: 4 hours. */
  retryWindowMs: 4 * 60 * 60 * 1_000,
} as const;

/** Headers of a webhook request. */
export const USER_AGENT = "Sluice/1.0";
export const SIGNATURE_HEADER = "X-Signature";
export const MESSAGE_ID_HEADER = "X-Message-Id";
export const ATTEMPT_HEADER = "X-Attempt";

/** The number of earlier attempts; only on retries. */
export const RETRY_COUNT_HEADER = "X-Retry-Count";
