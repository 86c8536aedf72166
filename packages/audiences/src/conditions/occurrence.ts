/** The part of a track message that aggregates depend on. */
export interface Occurrence {
  /** The event's time, never after its receipt. */
  readonly atMs: number;
  /** Its place in the log: two events of one millisecond are told apart by it. */
  readonly offset: number;
  readonly properties: unknown;
}
