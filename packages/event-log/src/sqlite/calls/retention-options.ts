/** How long messages are kept. Retention drops whole segments, and never one that a consumer still needs. */
export interface RetentionOptions {
  /** Maximum age of messages and refused messages, in milliseconds. Default: unlimited. */
  readonly maxAgeMs?: number;
  /** Maximum size on disk, in bytes: the oldest messages are dropped. Default: unlimited. */
  readonly maxBytes?: number;
}
