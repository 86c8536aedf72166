import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { expect, it } from "vitest";
import { availableOr, failedAppend } from "../../src/jetstream/api-errors.js";

const answered = (err_code: number, description: string): Error =>
  new JetStreamApiError({ code: 400, err_code, description });

it.each([
  ["another end", answered(10071, "wrong last sequence: 7"), { kind: "refused", last: 7 }],
  ["another end, unsaid", answered(10164, "wrong last sequence"), { kind: "refused", last: undefined }],
  ["a full log", answered(10077, "maximum bytes exceeded"), { kind: "impossible" }],
  // The leader could not write, and the others may have the entry.
  ["a failed disk", answered(10077, "no space left on device"), { kind: "unknown" }],
  ["a large entry", answered(10054, "message size exceeds maximum allowed"), { kind: "impossible" }],
  ["a full server", answered(10047, "insufficient storage resources available"), { kind: "impossible" }],
  ["a full account", answered(10002, "resource limits exceeded for account"), { kind: "impossible" }],
  [
    "too large for the client",
    new errors.InvalidArgumentError("payload max_payload"),
    { kind: "impossible" },
  ],
  ["an election", answered(10008, "JetStream system temporarily unavailable"), { kind: "unknown" }],
  ["no answer", new errors.TimeoutError(), { kind: "unknown" }],
  ["nobody there", new errors.NoRespondersError("sluice.a.log"), { kind: "unknown" }],
  ["a lost connection", new errors.ClosedConnectionError(), { kind: "unknown" }],
  ["something else", new Error("what?"), { kind: "unknown" }],
])("%s", (_name, error, expected) => {
  expect(failedAppend(error)).toMatchObject(expected);
});

it.each([
  [
    "no leader",
    Object.assign(new Error("jetstream is not enabled"), { name: "JetStreamNotEnabled" }),
    "they have no leader",
  ],
  ["nobody there", new errors.NoRespondersError("$KV.sluice.a"), "they have no leader"],
  ["no answer", new errors.TimeoutError(), "timeout"],
])("says why the servers cannot be used: %s", async (_name, error, message) => {
  await expect(availableOr(() => Promise.reject(error))).rejects.toThrow(message);
});
