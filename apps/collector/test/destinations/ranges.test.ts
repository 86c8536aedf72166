import {
  type Batch,
  type BatchLimits,
  type BatchResult,
  type DefinedDestination,
  defineDestination,
} from "@sluice/destination";
import { DOCUMENT_KINDS, type Offset } from "@sluice/event-log";
import type { JsonObject } from "@sluice/protocol";
import { manualClock } from "@sluice/resilience/testing";
import type { Sandboxes } from "@sluice/transformations";
import { expect, it } from "vitest";
import type { TransformationDocument } from "../../src/documents/documents.js";
import { closeDeliveries, type DeliveryFixture, openDelivery } from "../delivery/delivery-fixture.js";

closeDeliveries();

const DELIVERED = { kind: "delivered", reason: "kept" } as const;
const HANGS = new Promise<never>(() => {});

interface Sent {
  readonly id: string;
  readonly place: string;
  /** What a destination would write. */
  readonly lines: readonly string[];
}

type Answer = (call: number) => BatchResult | Promise<BatchResult>;

/** A destination that notes what it is to send. `broken`: the places that cannot be opened. `slow`: when a place is open. */
function noting(
  sent: Sent[],
  answer: Answer,
  limits: BatchLimits,
  broken: ReadonlySet<string>,
  slow: ReadonlyMap<string, Promise<void>>,
  opened: string[],
) {
  return defineDestination<{ place: string }>({
    type: "noting",
    name: "Noting",
    settings: {
      type: "object",
      additionalProperties: false,
      properties: { place: { title: "Place", type: "string", default: "a" } },
    },
    batch: () => limits,
    async open({ place }) {
      opened.push(place);
      await slow.get(place);
      if (broken.has(place)) throw new Error("there is no such place");
      return {
        async deliverBatch({ id, messages }: Batch) {
          sent.push({ id, place, lines: messages.map(({ payload }) => JSON.stringify(payload)) });
          return answer(sent.length);
        },
      };
    },
  }) as DefinedDestination;
}

interface World {
  readonly sent: Sent[];
  readonly fixture: DeliveryFixture;
  readonly id: string;
  readonly suppressed: Set<number>;
  readonly broken: Set<string>;
  readonly slow: Map<string, Promise<void>>;
  /** The places that were opened. */
  readonly opened: readonly string[];
  /** Lets the clock pass, and what is due happen. */
  advance(ms: number): Promise<void>;
}

async function world(
  answer: Answer,
  limits: BatchLimits = { maxAgeMs: 1_000 },
  more: { readonly openSandboxes?: () => Promise<Sandboxes> } = {},
): Promise<World> {
  const sent: Sent[] = [];
  const [suppressed, broken] = [new Set<number>(), new Set<string>()];
  const slow = new Map<string, Promise<void>>();
  const opened: string[] = [];
  const clock = manualClock();
  const covers = (_: unknown, offset: Offset) => suppressed.has(offset);
  const fixture = await openDelivery({
    ...{ clock, ...more, given: [noting(sent, answer, limits, broken, slow, opened)] },
    suppressions: { covers, purged: () => [], takePurges() {}, purges: [] },
  });
  const id = await fixture.create({ type: "noting", settings: {} });
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      await clock.advance(100);
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { sent, fixture, id, suppressed, broken, slow, opened, advance };
}

const idsIn = ({ lines }: Sent) => lines.map((line) => (JSON.parse(line) as { messageId: string }).messageId);
const append = ({ fixture }: World, ...messageIds: string[]) =>
  fixture.append(messageIds.map((messageId) => ({ messageId, properties: { colour: "red", sum: 1 } })));
const rangeIn = async ({ fixture, id }: World) => (await fixture.store.consumers.open(id, 0 as Offset)).range;
const down: BatchResult = { kind: "retry", reason: "down" };
const removal = { action: { kind: "remove" as const, paths: ["properties.colour"] } };
const dropAll = { action: { kind: "drop" as const } };

it("is in the store before it is sent, with why others are not sent, until its results are", async () => {
  const atFirst: unknown[] = [];
  const one: World = await world(async () => {
    const { store } = one.fixture;
    atFirst.push(await store.consumers.open(one.id, 0 as Offset));
    return DELIVERED;
  });
  one.suppressed.add(1);
  await append(one, "m0", "m1", "m2");
  await one.advance(2_000);
  expect(atFirst).toMatchObject([
    {
      cursor: -1,
      settledAhead: [1],
      range: {
        id: one.sent[0]?.id,
        runs: [
          [0, 0],
          [2, 2],
        ],
      },
    },
  ]);
  expect(await one.fixture.deliveries("m1")).toMatchObject([{ state: "suppressed" }]);
  expect(await rangeIn(one)).toBeUndefined();
  expect(await one.fixture.deliveries("m2")).toMatchObject([{ state: "delivered" }]);
});

it("has the same content and name after a crash, whatever was changed meanwhile", async () => {
  const one = await world((call) => (call === 1 ? HANGS : DELIVERED));
  await append(one, "m0", "m1", "m2");
  await one.advance(1_500);
  expect(one.sent).toHaveLength(1);
  // Each of these would change the batch, or what comes into it.
  await append(one, "m3", "m4");
  one.suppressed.add(1).add(4);
  await one.fixture.change(one.id, { filters: [removal], settings: { place: "b" } });
  await one.fixture.restart();
  await one.advance(3_000);
  expect(one.sent[1]).toEqual(one.sent[0]);
  expect(one.sent.map(({ place }) => place)).toEqual(["a", "a", "b"]);
  expect(one.sent[2]?.lines.map((line) => JSON.parse(line))).toMatchObject([
    { messageId: "m3", properties: { sum: 1 } },
  ]);
  expect(one.sent[2]?.lines[0]).not.toContain("colour");
  for (const id of ["m0", "m1", "m2", "m3"])
    expect(await one.fixture.deliveries(id)).toMatchObject([{ state: "delivered" }]);
  expect(await one.fixture.deliveries("m4")).toMatchObject([{ state: "suppressed" }]);
});

it("comes once while its repetition takes its time, although messages come meanwhile", async () => {
  const again = Promise.withResolvers<BatchResult>();
  const one = await world((call) => (call === 1 ? HANGS : call === 2 ? again.promise : DELIVERED));
  await append(one, "m0", "m1");
  await one.advance(1_500);
  await one.fixture.restart();
  await one.advance(1_500);
  await append(one, "m2");
  await one.advance(3_000);
  again.resolve(DELIVERED);
  await one.advance(3_000);
  expect(one.sent.map(idsIn)).toEqual([["m0", "m1"], ["m0", "m1"], ["m2"]]);
});

it("keeps its name without what a deletion erased, and other messages do not take the place", async () => {
  const one = await world((call) => (call === 1 ? HANGS : DELIVERED), { maxMessages: 3 });
  await append(one, "m0", "m1", "m2");
  await one.advance(500);
  await append(one, "m3");
  await one.fixture.store.purge({ sourceId: "src_1", messageId: "m0" });
  await one.fixture.restart();
  await one.advance(70_000);
  expect(one.sent.map(idsIn)).toEqual([["m0", "m1", "m2"], ["m1", "m2"], ["m3"]]);
  expect(one.sent[1]?.id).toBe(one.sent[0]?.id);
  expect(one.sent[2]?.id).not.toBe(one.sent[0]?.id);
});

it("leaves no trace of a batch whose messages were all erased", async () => {
  const one = await world((call) => (call === 1 ? HANGS : DELIVERED));
  await append(one, "m0");
  await one.advance(1_500);
  await one.fixture.store.purge({ sourceId: "src_1", messageId: "m0" });
  await one.fixture.restart();
  await append(one, "m1");
  await one.advance(3_000);
  expect(one.sent.map(idsIn)).toEqual([["m0"], ["m1"]]);
  expect(await rangeIn(one)).toBeUndefined();
});

it("is made with the version of the transformation that made it", async () => {
  const run = (code: string, message: JsonObject) => ({ ...message, event: `${code} ${message.event}` });
  const sandboxes: Sandboxes = {
    check: async () => ({ ok: true }),
    stats: () => ({ threads: 0, sandboxes: 0, memoryBytes: 0 }),
    run: async ({ code }, items) =>
      items.map(({ json }) => ({
        ...{ kind: "messages", isArray: true, logs: [] },
        messages: [1, 2].map((part) => run(`${code}${part}`, JSON.parse(json) as JsonObject)),
      })),
    close: async () => {},
  };
  const one = await world((call) => (call === 1 ? HANGS : DELIVERED), undefined, {
    openSandboxes: async () => sandboxes,
  });
  const { config } = one.fixture.store;
  const times = { createdAt: "2026-01-01T00:00:00.000Z", changedAt: "2026-01-01T00:00:00.000Z" };
  const version = async (current: number, code: string) => {
    const { createdAt } = times;
    const found = await config.get<TransformationDocument>(DOCUMENT_KINDS.transformation, "tr_1");
    await config.put(DOCUMENT_KINDS.transformationVersion, `tr_1@${current}`, {
      ...{ code, language: "javascript", createdAt },
    });
    const document = { name: "Names", ...times, current, newest: current, secrets: {}, secretsRevision: 0 };
    await config.put(DOCUMENT_KINDS.transformation, "tr_1", document, ...(found ? [found.version] : []));
  };
  await version(1, "old");
  await one.fixture.change(one.id, { transformationId: "tr_1" });
  await append(one, "m0", "m1");
  await one.advance(1_500);
  await version(2, "new");
  await append(one, "m2");
  await one.fixture.restart();
  await one.advance(3_000);
  expect(one.sent[0]?.lines.map((line) => JSON.parse(line).event)).toEqual([
    ...["old1 Ordered", "old2 Ordered", "old1 Ordered", "old2 Ordered"],
  ]);
  expect(one.sent[1]).toEqual(one.sent[0]);
  expect(one.sent[2]?.lines.map((line) => JSON.parse(line).event)).toEqual(["new1 Ordered", "new2 Ordered"]);
});

it("holds no messages that were decided by settings that have changed since", async () => {
  const one = await world(() => DELIVERED, { maxAgeMs: 5_000 });
  await append(one, "m0", "m1");
  await one.advance(1_000);
  await one.fixture.change(one.id, { filters: [removal] });
  await append(one, "m2");
  await one.advance(15_000);
  expect(one.sent.map(idsIn)).toEqual([["m0", "m1"], ["m2"]]);
  expect(JSON.stringify(one.sent)).not.toContain("colour");
});

it.each([
  ["waits for its age", { maxAgeMs: 5_000 }],
  ["waits for the one before", { maxMessages: 1, maxAgeMs: 1_000 }],
])("goes to no former place if it was not fixed before the change: it %s", async (_, limits) => {
  const first = Promise.withResolvers<BatchResult>();
  const one = await world((call) => (call === 1 ? first.promise : DELIVERED), limits);
  await append(one, "m0", "m1", "m2");
  await one.advance(2_000);
  const before = one.sent.length;
  await one.fixture.change(one.id, { settings: { place: "b" } });
  first.resolve(down);
  await one.advance(15_000);
  const later = one.sent.slice(before);
  expect(later.map(({ place }) => place)).not.toContain("a");
  expect(new Set(later.flatMap(idsIn))).toEqual(new Set(["m0", "m1", "m2"]));
});

it("is decided anew, under another name, if it cannot be sent with its settings any more", async () => {
  const one = await world((call) => (call === 1 ? HANGS : DELIVERED));
  await append(one, "m0", "m1");
  await one.advance(1_500);
  await one.fixture.change(one.id, { settings: { place: "b" }, filters: [removal] });
  one.broken.add("a");
  await append(one, "m2");
  await one.fixture.restart();
  await one.advance(5_000);
  const [first, ...later] = one.sent;
  expect(later.flatMap(idsIn).sort()).toEqual(["m0", "m1", "m2"]);
  expect(later.every(({ place, lines }) => place === "b" && !lines.join().includes("colour"))).toBe(true);
  expect(later.map(({ id }) => id)).not.toContain(first?.id);
});

it("is repeated under its name when it came from the retry queue, too", async () => {
  const later = { kind: "retry", reason: "locked", isReachable: true } as const;
  const one = await world((call) => (call === 1 ? later : call === 2 ? HANGS : DELIVERED));
  await append(one, "m0", "m1");
  await one.advance(6_000);
  expect(one.sent).toHaveLength(2);
  expect(one.sent[1]?.id).toContain("-again-");
  await one.fixture.change(one.id, { filters: [dropAll] });
  await one.fixture.restart();
  await one.advance(3_000);
  expect(one.sent).toHaveLength(3);
  expect(one.sent[2]).toEqual(one.sent[1]);
  expect(await one.fixture.deliveries("m1")).toMatchObject([{ state: "delivered" }]);
  expect(await one.fixture.store.consumers.backlog(one.id)).toMatchObject({ retries: 0 });
});

it("waits for the one that is under way with the settings before", async () => {
  const first = Promise.withResolvers<BatchResult>();
  const one = await world((call) => (call === 1 ? first.promise : DELIVERED));
  await append(one, "m0");
  await one.advance(1_500);
  await one.fixture.change(one.id, { settings: { place: "b" } });
  await append(one, "m1");
  await one.advance(3_000);
  expect(one.sent).toHaveLength(1);
  first.resolve(DELIVERED);
  await one.advance(3_000);
  expect(one.sent.map((batch) => [batch.place, idsIn(batch)])).toEqual([
    ["a", ["m0"]],
    ["b", ["m1"]],
  ]);
});

it("keeps its content and name while it fails, over crashes, changes, deletions and a time when it is disabled", async () => {
  let isDown = true;
  const one = await world(() => (isDown ? down : DELIVERED));
  await append(one, "m0", "m1", "m2");
  await one.advance(60_000);
  expect(one.sent.length).toBeGreaterThan(3);
  await append(one, "m3");
  await one.fixture.change(one.id, { filters: [removal] });
  one.suppressed.add(1);
  await one.advance(60_000);
  await one.fixture.restart();
  await one.advance(300_000);
  await one.fixture.change(one.id, { enabled: false });
  const sent = one.sent.length;
  await one.advance(300_000);
  expect(one.sent).toHaveLength(sent);
  expect(await one.fixture.deliveries("m1")).toMatchObject([{ state: "pending", reason: "down" }]);
  expect(await rangeIn(one)).toMatchObject({ id: one.sent[0]?.id });
  isDown = false;
  await one.fixture.change(one.id, { enabled: true });
  await one.advance(10_000);
  expect(one.sent.length).toBe(sent + 2);
  for (const batch of one.sent.slice(0, -1)) expect(batch).toEqual(one.sent[0]);
  expect(one.sent.at(-1)?.lines.map((line) => JSON.parse(line))).toMatchObject([{ messageId: "m3" }]);
  expect(await rangeIn(one)).toBeUndefined();
  expect(await one.fixture.store.consumers.backlog(one.id)).toMatchObject({ behind: 0, retries: 0 });
  for (const id of ["m0", "m1", "m2", "m3"])
    expect(await one.fixture.deliveries(id)).toMatchObject([{ state: "delivered" }]);
});

it("is decided anew by who changes the settings of a destination that fails", async () => {
  const one: World = await world(() => (one.sent.at(-1)?.place === "a" ? down : DELIVERED));
  await append(one, "m0", "m1");
  await one.advance(120_000);
  await one.fixture.change(one.id, { settings: { place: "b" } });
  await one.advance(5_000);
  const [first] = one.sent;
  const later = one.sent.filter(({ place }) => place === "b");
  expect(later.flatMap(idsIn).sort()).toEqual(["m0", "m1"]);
  expect(later.map(({ id }) => id)).not.toContain(first?.id);
  expect(await rangeIn(one)).toBeUndefined();
});

it("is not repeated with settings that fail and are no longer in force", async () => {
  const one: World = await world((call) =>
    call === 1 ? HANGS : one.sent.at(-1)?.place === "a" ? down : DELIVERED,
  );
  await append(one, "m0", "m1");
  await one.advance(1_500);
  await one.fixture.change(one.id, { settings: { place: "b" } });
  await one.fixture.restart();
  await one.advance(10_000);
  expect(one.sent.map(({ place }) => place)).toEqual(["a", "a", "b"]);
  expect(one.sent[2]?.id).not.toBe(one.sent[1]?.id);
  expect(await one.fixture.deliveries("m1")).toMatchObject([{ state: "delivered" }]);
});

it("waits as long as it was asked to, also after a restart", async () => {
  const one = await world((call) => (call === 1 ? { ...down, retryAfterMs: 600_000 } : DELIVERED));
  await append(one, "m0");
  await one.advance(2_000);
  await one.fixture.restart();
  await one.advance(500_000);
  expect(one.sent).toHaveLength(1);
  await one.advance(110_000);
  expect(one.sent).toHaveLength(2);
  expect(one.sent[1]).toEqual(one.sent[0]);
});

it("comes apart only where its messages were answered one by one", async () => {
  const one = await world((call) =>
    call === 1 ? { ...DELIVERED, others: [{ index: 1, result: down }] } : call === 2 ? down : DELIVERED,
  );
  await append(one, "m0", "m1", "m2");
  await one.advance(60_000);
  expect(one.sent.map(idsIn)).toEqual([["m0", "m1", "m2"], ["m1"], ["m1"]]);
  expect(one.sent[1]?.id).toContain("-again-");
  expect(one.sent[2]).toEqual(one.sent[1]);
});

it("is left without messages that were discarded, and sends none of them when all were", async () => {
  let isDown = true;
  const one = await world(() => (isDown ? down : DELIVERED));
  await append(one, "m0", "m1", "m2");
  await one.advance(30_000);
  const discard = (...offsets: number[]) =>
    one.fixture.delivery.discard(
      one.id,
      offsets.map((offset) => ({ offset: offset as Offset, isPending: true })),
      "by hand",
    );
  expect(await discard(1)).toEqual([1]);
  isDown = false;
  one.sent.length = 0;
  await one.advance(130_000);
  expect(one.sent.map(idsIn)).toEqual([["m0", "m2"]]);
  expect(await one.fixture.deliveries("m1")).toMatchObject([{ state: "discarded" }]);
  isDown = true;
  await append(one, "m3");
  await one.advance(30_000);
  await append(one, "m4");
  isDown = false;
  const sent = one.sent.length;
  expect(await discard(3)).toEqual([3]);
  await one.advance(2_000);
  expect(one.sent.slice(sent).map(idsIn)).toEqual([["m4"]]);
});

it.each([
  ["closed", ({ fixture }: World) => fixture.delivery.close(0)],
  ["disabled", ({ fixture, id }: World) => fixture.change(id, { enabled: false })],
])(
  "that cannot be opened, of a destination that is %s while that is found out, leaves it so",
  async (how, change) => {
    const one = await world(() => HANGS);
    const { fixture, id, broken } = one;
    await append(one, "m0");
    await one.advance(1_500);
    await fixture.delivery.close(0);
    broken.add("a");
    await fixture.change(id, { settings: { place: "b" } });
    const loading = Promise.withResolvers<never>();
    const { log } = fixture.store;
    const { read } = log;
    log.read = () => loading.promise;
    await fixture.restart(0);
    await one.advance(100);
    await change(one);
    log.read = read;
    loading.reject(new Error("the store was away"));
    const opensBefore = one.opened.length;
    await one.advance(120_000);
    expect(one.opened.length).toBe(opensBefore);
    if (how === "disabled")
      expect(await fixture.delivery.status(id)).toMatchObject({ state: "disabled", health: "disabled" });
    expect(fixture.log.filter((line) => line.includes("there is no such place"))).toEqual([]);
  },
);

it("that is given up while its settings change again sends nothing with what it was opened with", async () => {
  const one: World = await world((call) => (call === 1 ? HANGS : DELIVERED));
  const { fixture, id, broken, sent } = one;
  await append(one, "m0");
  await one.advance(1_500);
  await fixture.delivery.close(0);
  broken.add("a");
  await fixture.change(id, { settings: { place: "b" } });
  const loading = Promise.withResolvers<void>();
  const { log } = fixture.store;
  const read = log.read.bind(log);
  log.read = async (...args) => {
    await loading.promise;
    return read(...args);
  };
  await fixture.restart(0);
  await one.advance(100);
  // The place is back, but slow to open, when what was to be sent there is being given up.
  broken.delete("a");
  const opening = Promise.withResolvers<void>();
  one.slow.set("a", opening.promise);
  const changed = fixture.change(id, { settings: { place: "c" } });
  await append(one, "m1");
  await one.advance(100);
  loading.resolve();
  await one.advance(100);
  opening.resolve();
  await changed;
  await one.advance(60_000);
  expect(sent.slice(1).map(({ place }) => place)).not.toContain("a");
  expect(sent.slice(1).flatMap(idsIn).sort()).toEqual(["m0", "m1"]);
});
