import { beforeEach, describe, expect, it } from "vitest";
import type { Call, FromWorker, OperationName, ToWorker } from "../../src/sqlite/calls/operations.js";
import { TUNING_DEFAULTS, type WorkerOptions } from "../../src/sqlite/calls/tuning.js";
import { StoreServer } from "../../src/sqlite/thread/store-server.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
let options: WorkerOptions;
beforeEach(() => {
  options = {
    ...{ directory: temporaryDirectory(), dedupeWindowMs: 60_000, rejectionsKept: 10, retention: {} },
    ...{ tuning: TUNING_DEFAULTS, isReplica: false },
  };
});

/** A server without a thread. What it is told is served at once, together with what has `arrived`. */
class World {
  readonly said: FromWorker[] = [];
  readonly arrived: ToWorker[] = [];
  isClosed = false;
  readonly #server = new StoreServer(
    {
      post: (message) => this.said.push(message),
      receive: () => this.arrived.shift(),
      close: () => {
        this.isClosed = true;
      },
    },
    options,
  );

  tell(message: ToWorker): void {
    this.#server.serve(message);
  }

  /** What it said since the last time: the kind, and the ids of calls with how they ended. */
  get heard(): unknown[] {
    return this.said.splice(0).map((message) => {
      if (message.kind === "answers") return message.answers.map(({ id, kind }) => `${id} ${kind}`);
      return message.kind === "failed" ? ["failed", ...message.ids] : message.kind;
    });
  }
}

const ask = (...calls: readonly (readonly [number, OperationName, unknown])[]): ToWorker => ({
  kind: "calls",
  calls: calls.map(([id, operation, request]) => ({ id, operation, request }) as unknown as Call),
});
const get = (id: string) => ["getDocument", { kind: "source", id }] as const;

async function untilHeard(world: World, count: number): Promise<unknown[]> {
  const heard: unknown[] = [];
  while (heard.length < count) {
    await new Promise((resolve) => setImmediate(resolve));
    heard.push(...world.heard);
  }
  return heard;
}

it("answers what came with a close before it closes, and nothing after it", () => {
  const world = new World();
  world.arrived.push(ask([2, ...get("")]), { kind: "close" }, ask([3, ...get("s")]));
  world.tell(ask([1, ...get("s")]));
  expect(world.heard).toEqual(["opened", ["1 done", "2 done"], "closed"]);
  expect([world.isClosed, world.arrived.length]).toEqual([true, 1]);
});

it("is told to open again while it is open: it goes on, and says nothing", () => {
  const world = new World();
  world.tell({ kind: "reopen" });
  world.tell(ask([1, ...get("s")]));
  expect(world.heard).toEqual(["opened", ["1 done"]]);
  world.tell({ kind: "close" });
});

describe("a compaction", () => {
  it("that was asked for again while it ran answers every call once, when the last of it is done", async () => {
    const world = new World();
    world.tell(ask([1, "compact", {}], [2, ...get("s")]));
    world.tell(ask([3, "compact", {}]));
    expect(world.heard).toEqual(["opened", ["2 done"]]);
    expect(await untilHeard(world, 1)).toEqual([["1 done", "3 done"]]);
    world.tell(ask([4, "compact", {}]));
    expect(await untilHeard(world, 1)).toEqual([["4 done"]]);
    world.tell({ kind: "close" });
  });

  it("goes on in the emptied store, if everything is deleted meanwhile", async () => {
    const world = new World();
    world.tell(ask([1, "compact", {}], [2, "clear", {}]));
    expect(world.heard).toEqual(["opened", ["2 done"]]);
    expect(await untilHeard(world, 1)).toEqual([["1 done"]]);
    world.tell({ kind: "close" });
  });
});

it("refuses calls in a folder that another uses, until it is free and it is told to open again", () => {
  const other = new World();
  const world = new World();
  world.tell(ask([1, ...get("s")], [2, "compact", {}]));
  world.tell({ kind: "reopen" });
  expect(world.heard).toEqual(["not-opened", ["failed", 1, 2], "not-opened"]);
  other.tell({ kind: "close" });
  world.tell({ kind: "reopen" });
  world.tell(ask([3, ...get("s")]));
  expect(world.heard).toEqual(["opened", ["3 done"]]);
  world.tell({ kind: "close" });
});
