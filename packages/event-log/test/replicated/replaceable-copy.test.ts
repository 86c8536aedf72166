import { EventEmitter } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "@sluice/resilience/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { ReplaceableCopy } from "../../src/replicated/replaceable-copy.js";
import type { FromWorker, ToWorker } from "../../src/sqlite/calls/operations.js";
import type { WorkerOptions } from "../../src/sqlite/calls/tuning.js";
import type { StoreThread } from "../../src/sqlite/client/start-worker.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { temporaryDirectories } from "../temporary-directory.js";

/** A thread that has made the folder, and says what the test says. */
class FakeThread extends EventEmitter implements StoreThread {
  constructor(folder: string, file: string) {
    super();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, file), "");
  }

  postMessage(message: ToWorker): void {
    if (message.kind === "close") setImmediate(() => this.emit("exit"));
  }

  async terminate(): Promise<void> {
    setImmediate(() => this.emit("exit"));
  }

  say(message: Partial<FromWorker>): void {
    this.emit("message", message);
  }
}

const temporaryDirectory = temporaryDirectories();
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
let threads: FakeThread[];
let damages: string[];
let broken: number;
/** The threads that were waited for. */
let heard: number;
let root: string;
beforeEach(() => {
  threads = [];
  damages = [];
  broken = 0;
  heard = 0;
  root = temporaryDirectory();
});

const DAMAGED = { kind: "damaged", what: "a page is damaged", isCertain: true } as const;
const OPENED = { kind: "opened", snapshot: {} } as Partial<FromWorker>;
const NO_ROOM = { kind: "not-opened", reason: "no space left", isInUse: false } as const;

/** The next thread, once it was started, says these. */
async function saying(...messages: readonly Partial<FromWorker>[]): Promise<void> {
  heard += 1;
  while (threads.length < heard) await turn();
  for (const message of messages) threads.at(-1)?.say(message);
}

function opening(): Promise<ReplaceableCopy> {
  const directory = join(root, "copy");
  return ReplaceableCopy.open({
    worker: { directory } as WorkerOptions,
    engine: openMemoryEngines().engineFor("a"),
    clock: manualClock(),
    startThread() {
      threads.push(new FakeThread(directory, `of thread ${threads.length + 1}`));
      return threads.at(-1) as FakeThread;
    },
    moved() {},
    stats() {},
    onDamage: (what) => damages.push(what.replaceAll(root, "")),
    onBroken: () => {
      broken += 1;
    },
  });
}

async function opened(): Promise<ReplaceableCopy> {
  const [copy] = await Promise.all([opening(), saying(OPENED)]);
  return copy;
}

const filesIn = (folder: string): string[] =>
  existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];

describe("opening", () => {
  it("that fails without damage is rejected, and leaves the folder as it is", async () => {
    await Promise.all([expect(opening()).rejects.toThrow("no space left"), saying(NO_ROOM)]);
    expect([filesIn("copy"), filesIn("copy.damaged"), damages]).toEqual([["of thread 1"], [], []]);
  });

  it("that meets damage sets the copy aside and begins an empty one, without telling that it broke", async () => {
    const copy = opening();
    await saying(DAMAGED, NO_ROOM);
    await saying(OPENED);
    expect((await copy).isBroken).toBe(false);
    expect([filesIn("copy"), filesIn("copy.damaged")]).toEqual([["of thread 2"], ["of thread 1"]]);
    expect([damages, broken]).toEqual([
      ["a page is damaged", "the damaged copy was moved to /copy.damaged, and is built again from the log"],
      0,
    ]);
  });

  it("that succeeds although damage was met leaves the copy broken", async () => {
    const [copy] = await Promise.all([opening(), saying(DAMAGED, OPENED)]);
    expect([copy.isBroken, broken]).toEqual([true, 0]);
  });
});

describe("an open copy", () => {
  it.each([
    ["that may be damaged is not broken", [{ ...DAMAGED, isCertain: false }], 0],
    ["breaks once, however much damage is met", [DAMAGED, { ...DAMAGED, what: "another" }, DAMAGED], 1],
    ["breaks by the damage that is certain", [{ ...DAMAGED, isCertain: false }, DAMAGED], 1],
    ["says nothing of damage for which it has no words, and breaks", [{ ...DAMAGED, what: "" }], 1],
  ])("%s", async (_case, messages, times) => {
    const copy = await opened();
    for (const message of messages) threads[0]?.say(message);
    expect([copy.isBroken, broken]).toEqual([times === 1, times]);
    expect(damages).toHaveLength(messages.length);
  });
});

describe("building it again", () => {
  it("waits until its thread has ended, and no late word of that breaks the new one", async () => {
    const copy = await opened();
    const old = copy.now;
    threads[0]?.say(DAMAGED);
    await Promise.all([copy.rebuild(), saying(OPENED)]);
    expect([copy.isBroken, copy.now === old, broken]).toEqual([false, false, 1]);
    expect(filesIn("copy")).toEqual(["of thread 2"]);
  });

  it("that failed is done again, and the damaged copy stays where it was moved", async () => {
    const copy = await opened();
    threads[0]?.say(DAMAGED);
    await Promise.all([expect(copy.rebuild()).rejects.toThrow("no space left"), saying(NO_ROOM)]);
    await Promise.all([copy.rebuild(), saying(OPENED)]);
    expect([filesIn("copy.damaged"), copy.isBroken]).toEqual([["of thread 1"], false]);
    expect(damages.filter((what) => what.includes("moved"))).toHaveLength(1);
  });

  it("that meets damage again moves the new copy in its place", async () => {
    const copy = await opened();
    threads[0]?.say(DAMAGED);
    await Promise.all([expect(copy.rebuild()).rejects.toThrow("no space left"), saying(DAMAGED, NO_ROOM)]);
    await Promise.all([copy.rebuild(), saying(OPENED)]);
    expect([filesIn("copy.damaged"), broken]).toEqual([["of thread 2"], 1]);
  });
});

it("a load that finds no snapshot leaves the copy closed and its folder as it was, and can be repeated", async () => {
  const copy = await opened();
  for (let times = 0; times < 2; times++) await expect(copy.load()).rejects.toThrow("there is no snapshot");
  expect([filesIn("copy"), threads.length, copy.isBroken]).toEqual([["of thread 1"], 1, false]);
  expect(copy.now.health()).toMatchObject({ kind: "unavailable", reason: "the store is closed" });
});
