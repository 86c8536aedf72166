/** A bug that is planted to prove that the simulation finds it. It needs a restart, an interleaving or a second event. `NAME.patch` next to this file changes a line or two of the product. */
export interface PlantedBug {
  readonly name: string;
  /** What it breaks. */
  readonly breaks: string;
  /** An invariant that must fail. */
  readonly invariant: string;
  /** The store of all runs. Absent: the seed decides. */
  readonly store?: "embedded" | "replicated";
  /** The theme of all runs. Absent: the seed decides. */
  readonly theme?: "any" | "people" | "deletions" | "waits";
  /** How many threads work in runs with the embedded store. Absent: the seed decides. */
  readonly workers?: 1 | 3;
  /** The simulation finds it within the seeds from 1 to this one. */
  readonly withinSeeds: number;
  /** The seed that found it last: `npm run simulate:planted` prints it. */
  readonly foundAt: number;
}
