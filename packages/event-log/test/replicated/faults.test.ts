import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import type { LogAppend } from "../../src/replicated/engine.js";
import { type StartStoreThread, startWorker } from "../../src/sqlite/client/start-worker.js";
import { batchOf, idsBatch } from "../batches.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { FOREVER, leadSafely, type TestCluster, testClusters, untilStatus } from "./cluster.js";
import { contentsOf } from "./copy-contents.js";

const newCluster = testClusters();
const UNKNOWN: LogAppend = { kind: "unknown", reason: "no answer" };
const ALL = { messages: 1_000, bytes: 1e9 };

async function expectEqualCopies(cluster: TestCluster, nodes: readonly string[]): Promise<void> {
  const [first, ...others] = nodes.map((node) => contentsOf(cluster.folderOf(node)));
  for (const other of others) expect(other).toEqual(first);
}

it("settles lost entries and lost answers by trying again, once each", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store } = await leadSafely(a);
  const fates = ["lost", "answer lost", "ok", "lost", "answer lost"];
  cluster.engines.faultsOf("a").append = async (now) => {
    const fate = fates.shift() ?? "ok";
    const answer = fate === "lost" ? UNKNOWN : now();
    return fate === "ok" ? answer : UNKNOWN;
  };
  const appended = ["x", "y", "z"].map(async (id) => {
    const result = await store.log.append(idsBatch([id]));
    return result.duplicates;
  });
  const put = store.config.put("source", "s", {}, 0);
  expect(await Promise.all(appended)).toEqual([[], [], []]);
  expect((await put).version).toBe(1);
  expect(store.stats().messages).toBe(3);
});

it("ignores what a replaced owner had under way, even where the log accepts it", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b");
  const reasons: string[] = [];
  const old = await a.lead(1, { onDeposed: (reason) => reasons.push(reason) });
  const held: (() => LogAppend)[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  cluster.engines.faultsOf("a").append = async (now) => {
    held.push(now);
    await released;
    return now();
  };
  const calls = [old.store.config.put("source", "one", 1)];
  // The next turn of the event loop begins another entry.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  calls.push(old.store.config.put("source", "two", 2));
  const settled = Promise.allSettled(calls);
  while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));

  const { store, stepDown } = await leadSafely(b, 2);
  // The takeover stands where the first one should be, and so the log accepts the second one.
  expect(held[1]?.()).toMatchObject({ kind: "appended" });
  release();
  for (const result of await settled)
    expect(result).toMatchObject({ status: "rejected", reason: { code: "storage_unavailable" } });
  await untilStatus(a, ({ role }) => role === "following");
  expect(reasons).toEqual(["another process owns the log now"]);
  expect(old.store.health().kind).toBe("unavailable");

  await store.config.put("source", "three", 3);
  expect(await store.config.list("source")).toMatchObject([{ id: "three" }]);
  await stepDown();
  await a.caughtUp(FOREVER);
  await cluster.close(a);
  await cluster.close(b);
  await expectEqualCopies(cluster, ["a", "b"]);
});

it("follows from behind the entries that it still had under way as the owner", async () => {
  const cluster = newCluster();
  const problems: string[] = [];
  const a = await cluster.open("a", { onProblem: (what) => problems.push(what) });
  const b = await cluster.open("b");
  const old = await a.lead(1, { onDeposed() {} });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let appended = 0;
  cluster.engines.faultsOf("a").append = async (now) => {
    const answer = now();
    appended += 1;
    await released;
    return answer;
  };
  const puts = [];
  for (let entry = 1; entry <= 3; entry++) {
    puts.push(old.store.config.put("source", `s${entry}`, entry));
    while (appended < entry) await new Promise((resolve) => setImmediate(resolve));
  }
  const { store, stepDown } = await leadSafely(b, 2);
  // The answers of all three arrive at once, and with them the news that another process took over.
  puts.push(old.store.config.put("source", "late", 4));
  release();
  await Promise.allSettled(puts);
  await untilStatus(a, ({ role }) => role === "following");
  await a.caughtUp(FOREVER);
  expect(problems).toEqual([]);
  expect(await store.config.list("source")).toHaveLength(3);
  await stepDown();
  await cluster.close(a);
  await cluster.close(b);
  await expectEqualCopies(cluster, ["a", "b"]);
});

it("notices without a write of its own that another process took over", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b");
  const reasons: string[] = [];
  const old = await a.lead(1, { onDeposed: (reason) => reasons.push(reason) });
  const { store, stepDown } = await leadSafely(b, 2);
  await untilStatus(a, ({ role }) => role === "following");
  expect(reasons).toEqual(["another process owns the log now"]);
  expect(old.store.health().kind).toBe("unavailable");
  await store.config.put("source", "s", 1);
  await a.caughtUp(FOREVER);
  await stepDown();
});

it("stops trying to lead when it is told to", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  cluster.engines.faultsOf("a").append = async () => UNKNOWN;
  const stop = new AbortController();
  const leading = a.lead(1, { onDeposed() {}, signal: stop.signal });
  const rejected = expect(leading).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await rejected;
  expect(a.status().role).toBe("following");
  cluster.engines.faultsOf("a").append = async (now) => now();
  const { store } = await leadSafely(a, 2);
  expect(await store.log.append(idsBatch(["x"]))).toMatchObject({ duplicates: [] });
});

it("lets one of two processes lead that try at once", async () => {
  const cluster = newCluster();
  const replicas = [await cluster.open("a"), await cluster.open("b")];
  // Each has read the log's end before one of them appends: otherwise one could rightly replace the other.
  const both = Promise.withResolvers<void>();
  let ready = 0;
  for (const node of ["a", "b"])
    cluster.engines.faultsOf(node).append = async (now) => {
      ready += 1;
      if (ready === replicas.length) both.resolve();
      await both.promise;
      return now();
    };
  const tries = await Promise.allSettled(replicas.map((replica) => leadSafely(replica)));
  expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const loser = tries.find(({ status }) => status === "rejected");
  expect(loser).toMatchObject({ reason: { code: "storage_unavailable" } });
  expect(replicas.map((replica) => replica.status().role).sort()).toEqual(["following", "leading"]);
});

it("ignores entries that the log has twice", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  await store.config.put("source", "s", 1);
  const { log } = cluster.engines;
  for (const after of [1, 2, 0]) {
    const again = log.next(after);
    if (again !== undefined) log.append(again.data, log.bounds.last);
  }
  // The owner finds them at the place of its next entry.
  await store.config.put("source", "s", 2);
  expect(await store.config.get("source", "s")).toMatchObject({ version: 2, value: 2 });
  const b = await cluster.open("b");
  await b.caughtUp(FOREVER);
  await stepDown();
  await cluster.close(a);
  await cluster.close(b);
  await expectEqualCopies(cluster, ["a", "b"]);
});

it("applies what a crashed owner had appended, and goes on from an older copy after a power cut", async () => {
  const cluster = newCluster();
  let a = await cluster.open("a");
  const first = await leadSafely(a);
  await first.store.log.append(idsBatch(["x"]));
  await first.stepDown();
  await cluster.close(a);
  const copy = join(cluster.folderOf("a"), "copy");
  cpSync(copy, `${copy}.old`, { recursive: true });

  a = await cluster.open("a");
  const crashed = await a.lead(2, { onDeposed() {} });
  cluster.engines.faultsOf("a").append = async (now) => {
    now();
    // The process ends before the answer.
    return new Promise(() => {});
  };
  const lost = crashed.store.log.append(idsBatch(["y"]));
  const rejected = expect(lost).rejects.toMatchObject({ code: "storage_unavailable" });
  while (cluster.engines.log.bounds.last < 4) await new Promise((resolve) => setImmediate(resolve));
  await cluster.close(a);
  await rejected;

  // The copy lost its newest entries.
  rmSync(copy, { recursive: true });
  cpSync(`${copy}.old`, copy, { recursive: true });
  cluster.engines.faultsOf("a").append = async (now) => now();
  a = await cluster.open("a");
  const again = await leadSafely(a, 3);
  expect(await again.store.log.append(idsBatch(["x", "y", "z"]))).toEqual({ duplicates: [0, 1] });
});

it("stops leading when the log is full, and leads again when there is room", async () => {
  const cluster = newCluster(openMemoryEngines({ maxEntries: 3 }));
  const a = await cluster.open("a");
  const reasons: string[] = [];
  const { store } = await a.lead(1, { onDeposed: (reason) => reasons.push(reason) });
  await store.log.append(idsBatch(["1"]));
  await store.log.append(idsBatch(["2"]));
  await expect(store.log.append(idsBatch(["3"]))).rejects.toThrow("the log has no room: the log is full");
  expect(reasons).toEqual(["the log has no room: the log is full"]);
  await expect(leadSafely(a, 2)).rejects.toThrow("the log is full");
  await a.snapshot();
  cluster.engines.log.trim(3);
  const again = await leadSafely(a, 3);
  expect(await again.store.log.append(idsBatch(["2", "3"]))).toEqual({ duplicates: [0] });
});

it("refuses new calls while the engine is away, and finishes those under way when it is back", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store } = await leadSafely(a);
  const faults = cluster.engines.faultsOf("a");
  const underWay = store.log.append(idsBatch(["x"]));
  await new Promise((resolve) => setImmediate(resolve));
  faults.cut();
  // What clients are told does not name the address that the log names.
  const reason = "the servers that keep the log cannot be reached";
  expect(store.health()).toMatchObject({ kind: "unavailable", reason });
  await expect(store.config.put("source", "s", 1)).rejects.toMatchObject({
    ...{ code: "storage_unavailable", detail: reason },
    cause: { message: "the engine cannot be reached" },
  });
  faults.heal();
  expect(await underWay).toMatchObject({ duplicates: [] });
  expect(store.health()).toEqual({ kind: "ready" });
});

it("cuts what is larger than an entry may be", async () => {
  const cluster = newCluster(openMemoryEngines({ maxEntryBytes: 20_000 }));
  const a = await cluster.open("a");
  const { store, profiles, stepDown } = await leadSafely(a);
  const text = "x".repeat(100_000);
  const all = [
    store.config.put("source", "large", { text }),
    store.log.append(idsBatch(["small"])),
    store.log.append(batchOf([{ messageId: "large", text }])),
    profiles.commit({ documents: [["large", text]] }),
  ];
  await Promise.all(all);
  expect(await store.config.get("source", "large")).toMatchObject({ value: { text } });
  expect((await store.log.read(BEFORE_FIRST, ALL)).length).toBe(2);
  expect((await profiles.documents()).get("large")).toBe(text);
  const b = await cluster.open("b");
  await b.caughtUp(FOREVER);
  await stepDown();
  await cluster.close(a);
  await cluster.close(b);
  await expectEqualCopies(cluster, ["a", "b"]);
});

describe("a second call while the first is under way", () => {
  it("of stepping down ends with the first, when what was under way is written", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    const { store, stepDown } = await leadSafely(a);
    const written = Promise.withResolvers<void>();
    cluster.engines.faultsOf("a").append = async (now) => {
      await written.promise;
      return now();
    };
    const put = store.config.put("source", "s", 1);
    const ends = [stepDown(), stepDown()];
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(a.status().role).toBe("leading");
    written.resolve();
    await Promise.all(ends);
    expect(await put).toMatchObject({ version: 1 });
    expect(a.status().role).toBe("following");
  });

  it("of leading is refused", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    const [first, second] = await Promise.allSettled([leadSafely(a, 1), leadSafely(a, 2)]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ reason: { code: "storage_unavailable" } });
    expect(a.status().role).toBe("leading");
  });

  it("of making a snapshot is refused, and the first one is complete", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    await (await leadSafely(a)).store.config.put("source", "s", 1);
    const [first, second] = await Promise.allSettled([a.snapshot(), a.snapshot()]);
    expect([first.status, second]).toMatchObject(["fulfilled", { reason: { code: "conflict" } }]);
    await a.snapshot();
  });

  it("of closing waits for the first", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    expect(a.close()).toBe(a.close());
    await a.close();
  });
});

describe("what comes late", () => {
  it("of an earlier time of leading ends no later one", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    const b = await cluster.open("b");
    const deposed: string[] = [];
    const old = await a.lead(1, { onDeposed: (reason) => deposed.push(reason) });
    const other = await leadSafely(b, 2);
    await untilStatus(a, ({ role }) => role === "following");
    await other.stepDown();
    await a.caughtUp(FOREVER);
    const { store } = await leadSafely(a, 3);
    await old.stepDown();
    await expect(old.store.config.put("source", "old", 1)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    await store.config.put("source", "new", 1);
    expect([a.status().role, deposed]).toEqual(["leading", ["another process owns the log now"]]);
    expect(await store.config.get("source", "old")).toBeUndefined();
  });

  it("is no longer taken while the replica steps down, or is closed", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    const { store, stepDown } = await leadSafely(a);
    const stepping = stepDown();
    await expect(store.config.put("source", "late", 1)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    await stepping;
    await cluster.close(a);
    await expect(leadSafely(a, 2)).rejects.toThrow("the replica is closed");
    await expect(a.snapshot()).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("of a snapshot that is loaded is not waited for when the replica is closed, nor can it lead", async () => {
    const cluster = newCluster();
    const a = await cluster.open("a");
    const { store } = await leadSafely(a);
    await store.log.append(idsBatch(["x"]));
    await store.compact();
    const engine = cluster.engines.engineFor("b");
    const reading = Promise.withResolvers<void>();
    const silent = async function* (): AsyncGenerator<Uint8Array> {
      reading.resolve();
      await new Promise<never>(() => {});
      yield new Uint8Array();
    };
    const b = await cluster.open("b", {
      engine: new Proxy(engine, {
        get(target, name) {
          if (name === "snapshots") return { ...target.snapshots, get: async () => silent() };
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
    });
    await reading.promise;
    expect(b.status().role).toBe("loading");
    await expect(leadSafely(b, 2)).rejects.toThrow("the replica is loading");
    await cluster.close(b);
    expect(b.status().role).toBe("closed");
    expect(readdirSync(cluster.folderOf("b"))).not.toContain("copy.loading");
  });
});

/** A copy's thread that calls `reached` when the replica has taken over, and asks for what the stores begin with. */
function whenTakenOver(reached: () => void): StartStoreThread {
  return (options) => {
    const thread = startWorker(options);
    let hasApplied = false;
    return {
      on: (event: never, listener: never) => thread.on(event, listener),
      terminate: () => thread.terminate(),
      postMessage(message, transfer) {
        const calls = message.kind === "calls" ? message.calls.map(({ operation }) => operation) : [];
        if (hasApplied && calls.includes("describe")) reached();
        hasApplied ||= calls.includes("apply");
        thread.postMessage(message, transfer);
      },
    };
  };
}

describe("while the replica has taken over and does not lead yet", () => {
  it("it can be told to stop, and follows again", async () => {
    const cluster = newCluster();
    const stop = new AbortController();
    const a = await cluster.open("a", { startThread: whenTakenOver(() => stop.abort()) });
    await expect(a.lead(1, { onDeposed() {}, signal: stop.signal })).rejects.toThrow("was stopped");
    expect(a.status().role).toBe("following");
    const { store } = await leadSafely(await cluster.open("b"), 2);
    await store.config.put("source", "s", 1);
    await a.caughtUp(FOREVER);
    expect(a.status().applied).toBe(cluster.engines.log.bounds.last);
  });

  it("it can be closed", async () => {
    const cluster = newCluster();
    let closed: Promise<void> | undefined;
    const a = await cluster.open("a", {
      startThread: whenTakenOver(() => {
        closed ??= a.close();
      }),
    });
    await expect(leadSafely(a)).rejects.toThrow();
    await closed;
    expect(a.status().role).toBe("closed");
    await expect(a.caughtUp(FOREVER)).rejects.toThrow("stopped waiting");
  });
});

it("tells nobody what the log answers after the replica was closed", async () => {
  const cluster = newCluster();
  const engine = cluster.engines.engineFor("a");
  const answer = Promise.withResolvers<{ first: number; last: number }>();
  const log = new Proxy(engine.log, {
    get(target, name) {
      if (name === "bounds") return () => answer.promise;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const a = await cluster.open("a", { engine: { ...engine, log } });
  await cluster.close(a);
  let told = 0;
  a.onStatus(() => {
    told += 1;
  });
  const { last } = a.status();
  answer.resolve({ first: 1, last: 7 });
  await new Promise((resolve) => setImmediate(resolve));
  expect([told, a.status().last]).toEqual([0, last]);
});
