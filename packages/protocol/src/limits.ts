/** 1 KB as every limit here counts it. */
export const KB = 1_024;

/** The limits of the ingestion API; sizes are bytes of UTF-8 JSON, inclusive. Source: the interface's table 8. */
export const LIMITS = {
  /** One message, as it arrived: 32 KB. */
  messageBytes: 32 * KB,
  /** One batch request, uncompressed and with its envelope: 500 KB. */
  batchBytes: 500 * KB,
  /** Messages in one batch request. */
  batchMessages: 2_500,
  /** A `messageId` is shorter than this many characters. */
  messageIdLength: 100,
  /** Webhook URLs of one destination. */
  webhooksPerDestination: 5,
  /** One webhook exchange: connect, TLS, headers and body, in milliseconds. */
  webhookTimeoutMs: 5_000,
  /** From the first attempt of a delivery to its last, in milliseconds: 4 hours. */
  retryWindowMs: 4 * 60 * 60 * 1_000,
} as const;
