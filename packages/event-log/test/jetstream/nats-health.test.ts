import { expect, it } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import { healthTrouble } from "../../../../test/nats/nats-cluster.ts";

const consumer = { type: "CONSUMER", error: "JetStream consumer 'a' is not current: consumer not found" };
const stream = { type: "STREAM", error: "JetStream stream 'b' is not current" };

it.each([
  ["a healthy server", { status: "ok" }, undefined],
  ["a consumer that nobody has any more", { status: "error", errors: [consumer] }, undefined],
  ["a stream behind it", { status: "error", errors: [consumer, stream] }, stream.error],
  ["no contact", { status: "unavailable", error: "no contact with a meta leader" }, /no contact/],
  ["nothing said", { status: "error", errors: [] }, /its status is error/],
])("a test of NATS servers waits for what lasts: %s", (_name, page, expected) => {
  if (expected instanceof RegExp) expect(healthTrouble(page)).toMatch(expected);
  else expect(healthTrouble(page)).toBe(expected);
});
