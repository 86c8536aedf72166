import { openMemoryStore, type Store } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  createAudience,
  createComputedTrait,
  patchComputedTrait,
  removeAudience,
} from "../../src/definitions/change-definitions.js";
import { EPOCH_MS } from "./definitions.js";

const clock = manualClock({ startMs: EPOCH_MS });
const CONDITION = { kind: "trait", trait: "plan", is: "exists" } as const;
const PARTS = { condition: CONDITION, destinationIds: [] };

let store: Store;
beforeEach(() => {
  store = openMemoryStore({ clock });
});
afterEach(() => store.close());

const parts = (id: string) => ({ store, clock, id });

test("of two definitions that are created under one name at once, only the first is created", async () => {
  const [first, second, other] = await Promise.all([
    createAudience(parts("one"), { name: "Pro users", ...PARTS }),
    createComputedTrait(parts("two"), {
      name: "pro USERS",
      kind: "count",
      event: "Order",
      destinationIds: [],
    }),
    createAudience(parts("three"), { name: "Others", ...PARTS }),
  ]);
  expect(first).toMatchObject({ kind: "changed", definition: { id: "one" } });
  expect(second).toEqual({ kind: "key_taken", key: "pro_users", by: "one" });
  expect(other).toMatchObject({ kind: "changed" });
});

test("also of two requests that see the store through objects of their own, only the first creates the name", async () => {
  const ownConfig = (id: string) => ({ ...parts(id), store: { config: { ...store.config } } });
  const answers = await Promise.all(
    ["one", "two"].map((id) => createAudience(ownConfig(id), { name: "Pros", ...PARTS })),
  );
  expect(answers.map(({ kind }) => kind)).toEqual(["changed", "key_taken"]);
  expect(await store.config.list("audience")).toHaveLength(1);
});

test("a name whose creation failed can be used by the next creation at once", async () => {
  const [failed, created] = await Promise.all([
    createAudience(parts("one"), { name: "Pros", condition: {} as never, destinationIds: [] }),
    createAudience(parts("two"), { name: "Pros", ...PARTS }),
  ]);
  expect(failed.kind).toBe("invalid");
  expect(created).toMatchObject({ kind: "changed", definition: { id: "two" } });
});

test("an audience that another one names cannot be removed; null removes an optional field of a computed trait", async () => {
  await createAudience(parts("one"), { name: "One", ...PARTS });
  await createAudience(parts("two"), {
    name: "Two",
    condition: { kind: "audience", audienceId: "one" },
    destinationIds: [],
  });
  expect(await removeAudience(store, "one")).toEqual({ kind: "named", by: ["two"] });
  expect(await removeAudience(store, "two")).toEqual({ kind: "removed" });
  expect(await removeAudience(store, "two")).toEqual({ kind: "not_found" });

  const made = await createComputedTrait(parts("sum"), {
    name: "Sum",
    kind: "sum",
    event: "Order",
    property: "price",
    withinMs: 60_000,
    destinationIds: [],
  });
  if (made.kind !== "changed") throw new Error("it was not created");
  const patched = await patchComputedTrait(store, made.definition, { withinMs: null, version: 1 });
  expect(patched).toMatchObject({
    kind: "changed",
    definition: { version: 2, value: { property: "price" } },
  });
  expect(patched.kind === "changed" && "withinMs" in patched.definition.value).toBe(false);
});
