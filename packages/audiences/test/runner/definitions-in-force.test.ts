import { openMemoryStore, type Store } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { AUDIENCE } from "../../src/definitions/definitions.js";
import { DefinitionsInForce } from "../../src/engine/runner/definitions-in-force.js";
import { audience } from "../definitions/definitions.js";

let config: Store["config"];
let definitions: DefinitionsInForce;

async function put(id: string): Promise<void> {
  const { document } = audience(id, { kind: "trait", trait: "plan", is: "exists" });
  await config.put(AUDIENCE, id, document);
}

/** Whether the engine works by a version of a definition. */
function isInForce(id: string, version: number | undefined): boolean {
  try {
    definitions.require(id, version);
    return true;
  } catch {
    return false;
  }
}

/** What became of a promise so far. */
async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  const waiting = new Promise((resolve) => setImmediate(resolve, "waits"));
  return Promise.race([promise.then(() => "resolved"), waiting as Promise<string>]).catch(() => "rejected");
}

/** A take-up whose end the test decides. */
function takingUp() {
  const given = Promise.withResolvers<void>();
  const engine = Promise.withResolvers<void>();
  const done = definitions.takeUp(async () => {
    given.resolve();
    await engine.promise;
  });
  done.catch(() => {});
  return { done, given: given.promise, end: engine.resolve, fail: () => engine.reject(new Error("down")) };
}

beforeEach(() => {
  ({ config } = openMemoryStore({ clock: manualClock() }));
  definitions = new DefinitionsInForce(config);
});

describe("a change while the one before is being taken up", () => {
  it("waits for the next time, and leaves the definitions stale", async () => {
    await put("one");
    const first = definitions.takenUp();
    const taking = takingUp();
    await taking.given;
    await put("one");
    const second = definitions.takenUp();
    taking.end();
    await taking.done;
    expect([await outcomeOf(first), await outcomeOf(second)]).toEqual(["resolved", "waits"]);
    expect([definitions.isStale, definitions.isAwaited]).toEqual([true, true]);
    expect([isInForce("one", 1), isInForce("one", 2)]).toEqual([true, false]);
    await definitions.takeUp(async () => {});
    expect(await outcomeOf(second)).toBe("resolved");
    expect([definitions.isStale, isInForce("one", 2)]).toEqual([false, true]);
  });

  it("is not refused when that one fails", async () => {
    const first = definitions.takenUp();
    const taking = takingUp();
    await taking.given;
    const second = definitions.takenUp();
    taking.fail();
    await expect(taking.done).rejects.toThrow("down");
    expect([await outcomeOf(first), await outcomeOf(second)]).toEqual(["rejected", "waits"]);
    await definitions.takeUp(async () => {});
    expect(await outcomeOf(second)).toBe("resolved");
  });
});

it("several changes before one take-up all wait for it", async () => {
  const changes = [definitions.takenUp(), definitions.takenUp()];
  definitions.markStale();
  expect(definitions.isAwaited).toBe(true);
  await definitions.takeUp(async () => {});
  expect(await Promise.all(changes.map(outcomeOf))).toEqual(["resolved", "resolved"]);
});

it("what the engine loses while it takes the definitions up is not in force", async () => {
  await put("one");
  const taking = takingUp();
  await taking.given;
  definitions.lost();
  taking.end();
  await taking.done;
  expect([definitions.isStale, isInForce("one", 1), definitions.isAnyInForce]).toEqual([true, false, false]);
  await definitions.takeUp(async () => {});
  expect(isInForce("one", 1)).toBe(true);
});

it.each<[what: string, version: number | undefined, before: boolean, after: boolean]>([
  ["its version", 1, true, false],
  ["a newer version", 2, false, false],
  ["that it is forgotten", undefined, false, true],
])(
  "a definition that is deleted, asked for %s: %s while it is in force, then %s",
  async (_, version, before, after) => {
    await put("one");
    await definitions.takeUp(async () => {});
    expect(isInForce("one", version)).toBe(before);
    await config.delete(AUDIENCE, "one");
    await definitions.takeUp(async () => {});
    expect(isInForce("one", version)).toBe(after);
  },
);

it("says why a definition is not in force", async () => {
  expect(() => definitions.require("one", 1)).toThrow("audiences have not taken it up yet");
  await expect(definitions.takeUp(() => Promise.reject(new Error("the disk is full")))).rejects.toThrow();
  expect(() => definitions.require("one", 1)).toThrow("the disk is full");
});

it("closing refuses the changes that wait, and a second time nothing", async () => {
  const waiting = definitions.takenUp();
  definitions.close();
  definitions.close();
  expect(await outcomeOf(waiting)).toBe("rejected");
});
