/** A bug that is planted to prove that the simulation finds it. `NAME.patch` next to this file changes one line of the product. */
export interface PlantedBug {
  readonly name: string;
  /** What it breaks. */
  readonly breaks: string;
  /** An invariant that must fail. */
  readonly invariant: string;
  /** The store of all runs. Absent: the seed decides. */
  readonly store?: "embedded" | "replicated";
  /** The simulation finds it within the seeds from 1 to this one. */
  readonly withinSeeds: number;
  /** The seed that found it last: `npm run simulate:planted` prints it. */
  readonly foundAt: number;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "answers-before-the-disk",
    breaks: "The collector answers 200 before the messages are on disk.",
    invariant: "acknowledged-is-settled",
    withinSeeds: 150,
    foundAt: 44,
  },
  {
    name: "forgets-message-ids",
    breaks: "Dedupe remembers no message id.",
    invariant: "stored-once",
    withinSeeds: 20,
    foundAt: 1,
  },
  {
    name: "begins-the-window-again",
    breaks: "Each attempt begins the retry window again.",
    invariant: "retry-window",
    withinSeeds: 20,
    foundAt: 2,
  },
  {
    name: "sends-after-the-window",
    breaks: "A message whose window ended during a stop is sent once more.",
    invariant: "retry-window",
    withinSeeds: 100,
    foundAt: 37,
  },
  {
    name: "ignores-retry-after",
    breaks: "`Retry-After` counts as one second.",
    invariant: "retry-after",
    withinSeeds: 150,
    foundAt: 16,
  },
  {
    name: "forgets-what-was-settled-ahead",
    breaks: "After a restart, the first message that had ended beyond the cursor is sent again.",
    invariant: "sent-no-more-after-its-end",
    withinSeeds: 300,
    foundAt: 60,
  },
  {
    name: "moves-the-cursor-too-far",
    breaks: "The cursor passes messages that are in flight.",
    invariant: "acknowledged-is-settled",
    withinSeeds: 100,
    foundAt: 41,
  },
  {
    name: "overtakes-a-failing-user",
    breaks: 'With `order: "user"`, a message starts although an earlier one of its user waits for a retry.',
    invariant: "order-per-user",
    withinSeeds: 200,
    foundAt: 9,
  },
  {
    name: "wakes-one-destination",
    breaks: "New messages wake the first destination only.",
    invariant: "acknowledged-is-settled",
    withinSeeds: 20,
    foundAt: 4,
  },
  {
    name: "starts-late",
    breaks: "New messages start two seconds late.",
    invariant: "isolation",
    withinSeeds: 20,
    foundAt: 4,
  },
  {
    name: "calls-urls-again",
    breaks: 'With `success: "each"`, a URL that took a message gets it again with the next retry.',
    invariant: "sent-no-more-after-its-end",
    withinSeeds: 50,
    foundAt: 15,
  },
  {
    name: "leases-a-retry-twice",
    breaks: "A message whose turn came is sent twice after an outage. This was a bug of the product.",
    invariant: "one-outcome",
    withinSeeds: 300,
    foundAt: 37,
  },
  {
    name: "leaves-replays-waiting",
    breaks: "A bulk retry or replay does not wake its destination.",
    invariant: "replayed-once-more",
    withinSeeds: 50,
    foundAt: 9,
  },
  {
    name: "ends-windows-a-day-late",
    breaks: "Members whose event has left a time window stay for a day.",
    invariant: "audiences-match",
    withinSeeds: 250,
    foundAt: 171,
  },
  {
    name: "drops-what-is-needed",
    breaks: "Retention drops messages that a destination has not got.",
    invariant: "keeps-what-is-needed",
    store: "embedded",
    withinSeeds: 20,
    foundAt: 10,
  },
  {
    name: "forgets-ids-with-messages",
    breaks: "Dedupe forgets the ids of messages that retention has dropped.",
    invariant: "keeps-what-is-needed",
    store: "embedded",
    withinSeeds: 150,
    foundAt: 92,
  },
  {
    name: "starts-one-too-many",
    breaks: "A destination gets one request more than its concurrency.",
    invariant: "bounded-concurrency",
    withinSeeds: 20,
    foundAt: 2,
  },
  {
    name: "keeps-old-timers",
    breaks: "A destination whose next retry changes keeps the timer of the one before.",
    invariant: "memory-bounds",
    withinSeeds: 300,
    foundAt: 2,
  },
  {
    name: "keeps-ended-retries-in-count",
    breaks: "The retry queue goes on counting a retry that has ended.",
    invariant: "holds-nothing-at-rest",
    withinSeeds: 20,
    foundAt: 2,
  },
  {
    name: "drops-results-of-a-failed-write",
    breaks: "When the disk fails, the results of that moment are lost.",
    invariant: "acknowledged-is-settled",
    withinSeeds: 100,
    foundAt: 11,
  },
  {
    name: "counts-duplicates",
    breaks: "The usage of a source counts duplicates.",
    invariant: "usage-adds-up",
    withinSeeds: 50,
    foundAt: 25,
  },
  {
    name: "sdk-takes-a-cut-for-success",
    breaks: "The SDK reports messages as delivered when the connection broke.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 50,
    foundAt: 1,
  },
  {
    name: "applies-entries-of-a-replaced-owner",
    breaks: "Copies apply what a replaced owner had under way when another process took over.",
    invariant: "usage-adds-up",
    store: "replicated",
    withinSeeds: 250,
    foundAt: 98,
  },
  {
    name: "takes-silence-for-success",
    breaks: "The owner of a cluster takes a write that the log did not answer for stored.",
    invariant: "acknowledged-is-settled",
    store: "replicated",
    withinSeeds: 60,
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
];
