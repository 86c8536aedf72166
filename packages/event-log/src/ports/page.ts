export interface PageRequest {
  /** At most this many items. */
  readonly limit: number;
  /** The `nextCursor` of the previous page. Absent: the first page. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}
