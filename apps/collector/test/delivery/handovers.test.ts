import { EventEmitter } from "node:events";
import { openMemoryStore, type Store } from "@sluice/event-log";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDestination } from "../../src/delivery/control/connections.js";
import { type DeliveryRuntime, startDelivery } from "../../src/delivery/start-delivery.js";
import type { DeliveryWorker } from "../../src/delivery/workers/delivery-thread.js";
import { type Catalog, createCatalog } from "../../src/destinations/catalog.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** A thread that answers when the test says so. */
class FakeWorker extends EventEmitter {
  readonly #unanswered: Call[] = [];
  /** The destinations that it delivers to, as it was told each time. */
  readonly assigned: string[][] = [];

  postMessage(call: Call): void {
    this.#unanswered.push(call);
    const [first] = call.args;
    if (call.method === "start") this.assigned.push((first as { assigned: string[] }).assigned);
    if (call.method === "assign") this.assigned.push(first as string[]);
    if (call.method === "close") queueMicrotask(() => this.answer("close"));
  }

  /** Answers all calls of a method. */
  answer(method: string): void {
    for (const call of [...this.#unanswered]) {
      if (call.method !== method) continue;
      this.#unanswered.splice(this.#unanswered.indexOf(call), 1);
      this.emit("message", { kind: "result", id: call.id, result: undefined });
    }
  }

  /** Tells that it delivered so many messages. */
  delivered(destinationId: string, messages: number): void {
    const states = new Map([["delivered", Array(messages).fill(0.01)]]);
    const notice = { kind: "tally", tally: [[destinationId, { states, retried: 0 }]] };
    this.emit("message", { kind: "notice", notice });
  }

  async terminate(): Promise<number> {
    this.emit("exit", 1);
    return 1;
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

let clock: ManualClock;
let store: Store;
let catalog: Catalog;
let delivery: DeliveryRuntime;
let workers: FakeWorker[];
let ids: string[];

async function create(name: string): Promise<string> {
  const settings = { webhooks: [{ url: `https://hooks.example/${name}` }] };
  const made = await createDestination(
    { store, catalog, clock },
    { type: "webhooks", name, sourceIds: ["src_1"], settings },
  );
  if (made.kind !== "changed") throw new Error(JSON.stringify(made));
  return made.destination.id;
}

beforeEach(async () => {
  clock = manualClock();
  store = { ...openMemoryStore({ clock }), share: () => () => {} };
  const egress = egressPolicy({ allow: [] });
  catalog = createCatalog({ clock, egress, exportsFolder: "", secrets: secretBox(new Uint8Array(32)) });
  const source = { name: "Shop", kind: "server", writeKeys: [], blockedEvents: [] };
  await store.config.put("source", "src_1", source);
  ids = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await create(name));
  workers = [];
  delivery = await startDelivery({
    ...{ store, catalog, clock, metrics: createMetrics(), live: liveEvents() },
    logger: createLogger({ write: () => {} }),
    threads: {
      count: 2,
      startThread() {
        const worker = new FakeWorker();
        workers.push(worker);
        return worker as unknown as DeliveryWorker;
      },
    },
  });
});
afterEach(async () => {
  await delivery.close(0);
  await store.close();
});

/** The first thread has `a` and `c`, the second `b` and `d`. `c` is to move, because the first one does all the work. */
async function moving() {
  const [one, other] = workers as [FakeWorker, FakeWorker];
  const [a, b, c, d] = ids as [string, string, string, string];
  expect([one.assigned, other.assigned]).toEqual([[[a, c]], [[b, d]]]);
  one.delivered(a, 10_000);
  one.delivered(c, 9_000);
  await clock.advance(10_000);
  await turns();
  return { one, other, a, b, c, d };
}

it("a destination that moves is given to its new thread when the old one has handed it over", async () => {
  for (const worker of workers) worker.answer("start");
  await turns();
  const { one, other, a, b, c, d } = await moving();
  expect([one.assigned.at(-1), other.assigned.at(-1)]).toEqual([[a], [b, d]]);
  one.answer("assign");
  await turns();
  expect(other.assigned.at(-1)).toEqual([b, c, d]);
});

it("a destination that is added while another one is handed over does not bring that one along", async () => {
  for (const worker of workers) worker.answer("start");
  await turns();
  const { one, other, b, c, d } = await moving();
  const adding = create("e");
  const told = other.assigned.length;
  while (other.assigned.length === told) await turns();
  const [, , , , e = ""] = (await store.config.list("destination")).map(({ id }) => id);
  expect(other.assigned.at(-1)).toEqual([b, d, e]);
  other.answer("assign");
  await adding;
  one.answer("assign");
  await turns();
  expect(other.assigned.at(-1)).toEqual([b, c, d, e]);
});

it("a thread that is still starting hands over what it has begun with", async () => {
  workers[1]?.answer("start");
  await turns();
  const { one, other, a, b, c, d } = await moving();
  expect(one.assigned).toEqual([[a, c]]);
  expect(other.assigned.at(-1)).toEqual([b, d]);
  one.answer("start");
  await turns();
  expect(one.assigned.at(-1)).toEqual([a]);
  expect(other.assigned.at(-1)).toEqual([b, d]);
  one.answer("assign");
  await turns();
  expect(other.assigned.at(-1)).toEqual([b, c, d]);
});

it.each(["start", "assign"])(
  "a thread that never answers %s is ended, and hands over by that",
  async (call) => {
    workers[1]?.answer("start");
    if (call === "assign") workers[0]?.answer("start");
    await turns();
    const { other, b, c, d } = await moving();
    expect(other.assigned.at(-1)).toEqual([b, d]);
    await clock.advance(15_000);
    await turns();
    expect(other.assigned.at(-1)).toEqual([b, c, d]);
  },
);

it("a destination that is deleted while it is handed over is given to nobody", async () => {
  for (const worker of workers) worker.answer("start");
  await turns();
  const { one, other, b, c, d } = await moving();
  const deleting = store.config.delete("destination", c);
  await turns();
  other.answer("assign");
  await deleting;
  one.answer("assign");
  await turns();
  expect(other.assigned.at(-1)).toEqual([b, d]);
});
