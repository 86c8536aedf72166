import { expect, test } from "vitest";
import {
  type LoopState,
  nextState,
  type Outcome,
  type Situation,
} from "../../src/engine/runner/loop/loop-state.js";

const QUIET: Situation = {
  isClosing: false,
  areDefinitionsStale: false,
  isOutboxUncertain: false,
  isCompactionDue: false,
};
const STALE = { areDefinitionsStale: true };
const UNCERTAIN = { isOutboxUncertain: true };
const COMPACTION = { isCompactionDue: true };
const CLOSING = { isClosing: true };

test.each<[string, Outcome, Partial<Situation>, LoopState["kind"]]>([
  ["definitions come before everything else", "done", { ...STALE, ...UNCERTAIN }, "taking_up_definitions"],
  ["then the outbox", "done", UNCERTAIN, "recovering"],
  ["with both settled, the log is read", "done", {}, "reading"],
  ["compaction does not delay reading", "done", COMPACTION, "reading"],
  ["a busy round leaves time to ingestion", "busy", {}, "idle"],
  ["even if definitions changed meanwhile", "busy", STALE, "idle"],
  ["after a quiet round it waits", "quiet", {}, "waiting"],
  ["or compacts", "quiet", COMPACTION, "compacting"],
  ["a change during a quiet round ends the wait by its wake-up", "quiet", STALE, "waiting"],
  ["a failure pauses", "failed", { ...STALE, ...UNCERTAIN }, "paused"],
  ["closing wins over work", "done", { ...CLOSING, ...STALE }, "closed"],
  ["closing wins over idling", "busy", CLOSING, "closed"],
  ["closing wins over waiting", "quiet", CLOSING, "closed"],
  ["closing wins over a failure", "failed", CLOSING, "closed"],
])("%s", (_name, outcome, situation, expected) => {
  expect(nextState(outcome, { ...QUIET, ...situation })).toBe(expected);
});
