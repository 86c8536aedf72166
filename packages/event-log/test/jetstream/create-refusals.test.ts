import { JetStreamApiError } from "@nats-io/jetstream";
import { expect, it } from "vitest";
import { refusalOfCreate } from "../../src/jetstream/ensure-streams.js";

const full = new JetStreamApiError({
  code: 500,
  err_code: 10047,
  description: "insufficient storage resources available",
});

it.each([
  [4_294_967_296, "the stream LOG needs 4294967296 bytes on each of 3 servers: insufficient storage"],
  [-1, "the stream LOG gets no room on 3 servers: insufficient storage"],
])("says what a stream of %i bytes needs where there is too little room", (bytes, expected) => {
  const config = { name: "LOG", subjects: ["log.>"], num_replicas: 3, max_bytes: bytes };
  const refusal = refusalOfCreate(full, config);
  expect(refusal.code).toBe("room");
  expect(refusal.message).toContain(expected);
});
