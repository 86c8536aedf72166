/** How much of the log a copy contains. */
export interface Applied {
  /** The sequence of the last entry in it; 0 for an empty copy. */
  readonly sequence: number;
  /** The session that leads, as far as this copy knows; see `EntryId`. */
  readonly session: string;
  /** The number of the last entry of this session that was applied. */
  readonly number: number;
  /** The latest trusted time in any entry. Time does not go back in a copy, whatever the clocks of its owners say. */
  readonly trustedMs: number;
  /** The sequence of the last entry with changes of profiles, which are in a file of their own. 0: there was none. */
  readonly profiles: number;
}

export const NOTHING_APPLIED: Applied = { sequence: 0, session: "", number: 0, trustedMs: 0, profiles: 0 };
