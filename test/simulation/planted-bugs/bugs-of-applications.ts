import type { PlantedBug } from "./planted-bug.js";

/** In the SDK and its spool. */
export const BUGS_OF_APPLICATIONS: readonly PlantedBug[] = [
  {
    name: "flush-forgets-those-in-flight",
    breaks: "`flush()` does not wait for messages that are in flight.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 10,
    foundAt: 6,
  },
  {
    name: "exit-forgets-those-in-flight",
    breaks: "`process.exit()` forgets the messages that are in flight.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 20,
    foundAt: 14,
  },
  {
    name: "first-hook-sends-the-batch",
    breaks: "A batch goes on when the first of its `beforeSend` functions has ended.",
    invariant: "sdk-discards",
    withinSeeds: 10,
    foundAt: 4,
  },
  {
    name: "batch-crosses-a-discard",
    breaks: "What is called after a discard, in the same turn, is discarded, too.",
    invariant: "sdk-discards",
    withinSeeds: 50,
    foundAt: 21,
  },
  {
    name: "discard-leaves-the-spool",
    breaks: "What is discarded stays in the spool, and is sent.",
    invariant: "sdk-discards",
    withinSeeds: 50,
    foundAt: 22,
  },
  {
    name: "rejected-count-as-delivered",
    breaks: "Messages that a new tracking plan refuses are reported as delivered.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 10,
    foundAt: 6,
  },
  {
    name: "spool-file-is-not-synced",
    breaks: "A power cut tears what the spool had kept.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 20,
    foundAt: 11,
  },
  {
    name: "spool-takes-files-of-others",
    breaks: "A process takes a file of the spool that another one is sending.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 50,
    foundAt: 33,
  },
  {
    name: "spool-leaves-files-of-ended-processes",
    breaks: "What a process was sending from the spool when it ended is never sent.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 10,
    foundAt: 4,
  },
  {
    name: "spool-removes-before-the-answer",
    breaks: "A file of the spool goes before its answer comes.",
    invariant: "sdk-accounts-for-all",
    withinSeeds: 10,
    foundAt: 1,
  },
  {
    name: "late-hook-takes-its-refusal-back",
    breaks: "A `beforeSend` function that ends after its time limit decides after all.",
    invariant: "before-send-decides",
    withinSeeds: 50,
    foundAt: 30,
  },
  {
    name: "new-messages-overtake-the-spool",
    breaks: "While the spool waits for a retry, new messages are sent past it.",
    invariant: "sdk-keeps-order",
    withinSeeds: 50,
    foundAt: 28,
  },
];
