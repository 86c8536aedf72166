import type { PlantedBug } from "./planted-bug.js";

/** In ingestion, the log, its copies, retention, deletions and audiences. */
export const BUGS_OF_STORES: readonly PlantedBug[] = [
  {
    name: "answers-before-the-disk",
    breaks: "The collector answers 200 before the messages are on disk.",
    invariant: "acknowledged-is-settled",
    withinSeeds: 50,
    foundAt: 44,
  },
  {
    name: "forgets-message-ids",
    breaks: "Dedupe remembers no message id.",
    invariant: "stored-once",
    withinSeeds: 10,
    foundAt: 1,
  },
  {
    name: "counts-duplicates",
    breaks: "The usage of a source counts duplicates.",
    invariant: "usage-adds-up",
    withinSeeds: 50,
    foundAt: 25,
  },
  {
    name: "drops-what-is-needed",
    breaks: "Retention drops messages that a destination has not got.",
    invariant: "keeps-what-is-needed",
    store: "embedded",
    withinSeeds: 10,
    foundAt: 10,
  },
  {
    name: "forgets-ids-with-messages",
    breaks: "Dedupe forgets the ids of messages that retention has dropped.",
    invariant: "keeps-what-is-needed",
    store: "embedded",
    withinSeeds: 100,
    foundAt: 92,
  },
  {
    name: "applies-entries-of-a-replaced-owner",
    breaks: "Copies apply what a replaced owner had under way when another process took over.",
    invariant: "usage-adds-up",
    store: "replicated",
    withinSeeds: 100,
    foundAt: 98,
  },
  {
    name: "takes-silence-for-success",
    breaks: "The owner of a cluster takes a write that the log did not answer for stored.",
    invariant: "copies-are-equal",
    store: "replicated",
    withinSeeds: 10,
    foundAt: 3,
  },
  {
    name: "forgets-purges-at-a-restart",
    breaks:
      "A copy that is opened again stores the attempt at a message that was purged before. This was a bug of the product.",
    invariant: "copies-are-equal",
    store: "replicated",
    withinSeeds: 250,
    foundAt: 209,
  },
  {
    name: "downtime-extends-the-window",
    breaks:
      "All of the time that a collector was down is added to the retry windows, not what is over the limit.",
    invariant: "retry-window",
    withinSeeds: 100,
    foundAt: 58,
  },
];
