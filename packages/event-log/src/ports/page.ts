export interface PageRequest {
  /** At most this many items. */
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}
