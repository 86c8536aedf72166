import type { DamageListener } from "../database/damage.js";

/** How a store is opened. */
export interface Opening {
  /** Called for damaged data that was skipped. */
  readonly damaged: DamageListener;
  /** Called with a sentence about something that is not wrong, but that people may want to know. */
  readonly noted?: (what: string) => void;
  /** The first opening of a process: nothing is under way from before. */
  readonly isFirst: boolean;
  /**
   * Commits each entry to the database alone. SQLite writes nothing more in a transaction in which it found damage, so a transaction that
   * several entries share would be lost with each damaged page that somebody reads. Always so in a copy.
   */
  readonly isCareful: boolean;
  /** Opens a folder whose log is damaged, without the entries that cannot be read. Called with a sentence for each loss. */
  readonly leftOut?: (what: string, bytes: Uint8Array) => void;
}
