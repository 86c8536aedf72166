import type { PlantedBug } from "./planted-bug.js";

const THREADS = { store: "embedded", workers: 3 } as const;

/** Between the threads of a collector. */
export const BUGS_OF_THREADS: readonly PlantedBug[] = [
  {
    ...THREADS,
    name: "dead-thread-settles-late",
    breaks: "What a thread settled before it died is accepted after another one has its destinations.",
    invariant: "one-outcome",
    theme: "any",
    withinSeeds: 40,
    foundAt: 17,
  },
  {
    ...THREADS,
    name: "dead-thread-keeps-its-destinations",
    breaks: "A thread that dies after a minute or more is not started again.",
    invariant: "acknowledged-is-settled",
    theme: "any",
    withinSeeds: 40,
    foundAt: 17,
  },
  {
    ...THREADS,
    name: "one-thread-follows-no-changes",
    breaks: "A change of a destination is followed by all threads but one.",
    invariant: "settings-hold",
    withinSeeds: 20,
    foundAt: 3,
  },
  {
    ...THREADS,
    name: "stores-by-former-rules",
    breaks: "The store takes messages that a thread admitted by a plan that was changed since.",
    invariant: "rules-hold",
    theme: "any",
    withinSeeds: 20,
    foundAt: 6,
  },
  {
    ...THREADS,
    name: "new-thread-joins-too-early",
    breaks: "A thread that starts counts as one that has followed the next change.",
    invariant: "rules-hold",
    theme: "any",
    withinSeeds: 40,
    foundAt: 13,
  },
  {
    ...THREADS,
    name: "handed-back-counts-as-stored",
    breaks: "Messages that the store hands back, to be admitted again, are acknowledged.",
    invariant: "acknowledged-is-settled",
    theme: "any",
    withinSeeds: 10,
    foundAt: 1,
  },
  {
    ...THREADS,
    name: "limits-hold-per-thread",
    breaks: "Each thread lets through as much as the limit of a source allows.",
    invariant: "rate-limits-hold",
    theme: "any",
    withinSeeds: 60,
    foundAt: 28,
  },
  {
    ...THREADS,
    name: "purges-reach-no-thread",
    breaks: "Threads deliver what they had read of a user who was deleted.",
    invariant: "deleted-stays-deleted",
    theme: "deletions",
    withinSeeds: 10,
    foundAt: 2,
  },
];
