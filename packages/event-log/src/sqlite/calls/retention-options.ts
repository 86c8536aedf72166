/** How long messages are kept. Whole segments are dropped, and never one that a consumer still needs. */
export interface RetentionOptions {
  /** Messages older than this are dropped, refused ones too, in milliseconds. Default: kept for ever. */
  readonly maxAgeMs?: number;
  /** The oldest are dropped while the store takes more than this on disk, in bytes. Default: no bound. */
  readonly maxBytes?: number;
}
