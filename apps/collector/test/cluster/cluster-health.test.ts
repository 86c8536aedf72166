import { expect, test } from "vitest";
import { clusterHealth, type HealthFacts, passingHealth } from "../../src/cluster/state/cluster-health.js";

const WELL: HealthFacts = {
  ...{ hasOwner: true, ownerlessMs: 0, engine: { kind: "connected" }, engineMs: 60_000, unsafe: undefined },
};

test.each<[string, Partial<HealthFacts>, RegExp | undefined]>([
  ["well", {}, undefined],
  ["a takeover", { hasOwner: false, ownerlessMs: 9_000 }, undefined],
  ["no owner for long", { hasOwner: false, ownerlessMs: 10_001 }, /^no process owns the log$/],
  ["an election of the NATS servers", { unanswered: { ms: 9_000 } }, undefined],
  [
    "NATS servers without a majority",
    { unanswered: { ms: 10_001 } },
    /^the NATS servers do not answer, so most of them may be away$/,
  ],
  [
    "both: what explains the other",
    { hasOwner: false, ownerlessMs: 60_000, unanswered: { ms: 60_000 } },
    /NATS servers do not answer/,
  ],
  [
    "no connection, without the address that clients need not know",
    { engine: { kind: "disconnected", reason: "connect ECONNREFUSED 10.0.0.1:4222", sinceMs: 0 } },
    /^the NATS servers cannot be reached$/,
  ],
  [
    "not safe, without the addresses",
    { unsafe: "The NATS servers acknowledge before they sync: n1 at http://10.0.0.1:8222" },
    /^the NATS servers may lose acknowledged messages$/,
  ],
])("the health of a process: %s", (_, facts, expected) => {
  const health = clusterHealth({ ...WELL, ...facts });
  if (expected === undefined) expect(health).toEqual({ kind: "ready" });
  else expect(health).toEqual({ kind: "unavailable", reason: expect.stringMatching(expected) });
});

test.each([
  [0, "ready"],
  [10_000, "ready"],
  [10_001, "unavailable"],
])("an owner that has been silent for %i ms: %s", (silentMs, kind) => {
  expect(passingHealth(silentMs).kind).toBe(kind);
});
