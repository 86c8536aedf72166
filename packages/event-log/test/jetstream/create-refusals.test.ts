import { JetStreamApiError, type JetStreamManager, type StreamInfo } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { EngineRefused, isAway } from "../../src/jetstream/api-errors.js";
import { ensureStreams, refusalOfCreate } from "../../src/jetstream/streams/ensure-streams.js";
import { streamNames } from "../../src/jetstream/streams/stream-settings.js";

const answered = (err_code: number, description: string) =>
  new JetStreamApiError({ code: 500, err_code, description });
const full = answered(10047, "insufficient storage resources available");
// What nats-server 2.10.27 answers in a cluster.
const noPeers = answered(10005, "no suitable peers for placement");
const noPeersWithRoom = answered(10005, "no suitable peers for placement, insufficient storage");

it.each([
  [4_294_967_296, "the stream LOG needs 4294967296 bytes on each of 3 servers: insufficient storage"],
  [-1, "the stream LOG gets no room on 3 servers: insufficient storage"],
])("says what a stream of %i bytes needs where there is too little room", (bytes, expected) => {
  const config = { name: "LOG", subjects: ["log.>"], num_replicas: 3, max_bytes: bytes };
  const refusal = refusalOfCreate(full, config);
  expect(refusal.code).toBe("room");
  expect(refusal.message).toContain(expected);
});

/** Makes the streams of a cluster on servers that answer so to each wish for a stream; undefined: they accept it, and elect nobody. */
function making(answerTo: (try_: number) => Error | undefined) {
  const clock = manualClock({ startMs: 0 });
  const tries: number[] = [];
  let accepted: Partial<StreamInfo> | undefined;
  const streams = {
    async info() {
      if (accepted === undefined) throw answered(10059, "stream not found");
      return accepted;
    },
    async add(config: StreamInfo["config"]) {
      tries.push(clock.monotonic());
      const error = answerTo(tries.length);
      if (error !== undefined) throw error;
      accepted = { config, cluster: { name: "c" } as NonNullable<StreamInfo["cluster"]> };
    },
  };
  const identity = { name: "five", id: "id", fingerprint: "", createdAt: "" };
  const sizes = { replicas: 5, maxLogBytes: 1_000, maxSnapshotBytes: -1 };
  const wish = { identity, sizes, names: streamNames("five"), expectedId: undefined };
  const made = ensureStreams({ streams } as unknown as JetStreamManager, { ...wish, create: true }, clock);
  const refused = made.then(
    () => undefined,
    (error: unknown) => error as EngineRefused,
  );
  return { clock, tries, refused };
}

it.each([
  ["too few servers", noPeers, "too_few", true, "cannot have 5 replicas: no suitable peers", "_REPLICAS"],
  ["too little room", noPeersWithRoom, "room", false, "needs 1000 bytes on each of 5", "_MAX_LOG_BYTES"],
])("waits until the servers know each other, and then says: %s", async (_, error, code, away, ...said) => {
  const { clock, tries, refused } = making(() => error);
  await clock.advance(30_000);
  const refusal = await refused;
  expect(refusal).toBeInstanceOf(EngineRefused);
  expect([refusal?.code, isAway(refusal)]).toEqual([code, away]);
  for (const text of said) expect(refusal?.message).toContain(text);
  expect(tries.at(-1)).toBeGreaterThanOrEqual(25_000);
  expect(refusal?.message).not.toContain("reached");
});

it("says at once that there is too little room where a server stands alone", async () => {
  const { clock, tries, refused } = making(() => full);
  await clock.advance(1_000);
  expect((await refused)?.code).toBe("room");
  expect(tries).toEqual([0]);
});

it("gives a stream that is accepted late the time of an election", async () => {
  const { clock, tries, refused } = making((try_) => (try_ < 41 ? noPeers : undefined));
  let isOver = false;
  void refused.then(() => {
    isOver = true;
  });
  // Asked each quarter of a second, so it is accepted after 10 s.
  await clock.advance(24_000);
  expect([tries.length, isOver]).toEqual([41, false]);
  await clock.advance(2_000);
  expect((await refused)?.code).toBe("too_few");
  expect((await refused)?.message).toContain("has no leader");
});

it("says that nobody answered where nobody did", async () => {
  const { clock, refused } = making(() => new errors.TimeoutError());
  await clock.advance(16_000);
  expect((await refused)?.code).toBe("too_few");
  expect(isAway(await refused)).toBe(true);
});
