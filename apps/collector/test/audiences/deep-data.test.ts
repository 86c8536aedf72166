import { afterEach, beforeEach, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "./collector-world.js";

let world: CollectorWorld;
beforeEach(async () => {
  world = await openCollector();
});
afterEach(() => world.close());

/** As deep as 32 KB of JSON can be. */
const DEPTH = 15_000;
const lists = `${"[".repeat(DEPTH)}1${"]".repeat(DEPTH)}`;
const objects = `${'{"a":'.repeat(DEPTH / 3)}1${"}".repeat(DEPTH / 3)}`;

test.each([
  ["lists", lists],
  ["objects", objects],
  ["lists with a number that no double holds", lists.replace("1", "1".repeat(30))],
])("%s as deep as a message can hold stop neither counting nor showing", async (_what, deep) => {
  for (const kind of ["last", "unique_list", "most_frequent", "count"])
    await world.api("POST", "/computed-traits", {
      name: kind,
      kind,
      event: "Order",
      property: "deep",
      destinationIds: [],
    });
  await world.api("POST", "/audiences", {
    name: "Deep",
    condition: { kind: "trait", trait: "deep.a.a", is: "exists" },
    destinationIds: [],
  });
  const messages = [
    `{"type":"identify","userId":"ann","traits":{"deep":${deep}}}`,
    `{"type":"track","userId":"ann","event":"Order","properties":{"deep":${deep}}}`,
    `{"type":"identify","userId":"ann","traits":{"deep":${deep}}}`,
    `{"type":"track","userId":"bob","event":"Order","properties":{"deep":1}}`,
  ];
  const response = await fetch(`${world.collector.url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${world.writeKey}:`)}` },
    body: `{"batch":[${messages.join(",")}]}`,
  });
  expect(response.status).toBe(200);
  expect((await world.api("GET", "/profiles/bob")).body).toMatchObject({ computedTraits: { count: 1 } });
  expect((await world.api("GET", "/profiles/ann")).status).toBeOneOf([200, 404]);
  await world.restart();
  expect((await world.api("GET", "/profiles/bob")).body).toMatchObject({ computedTraits: { last: 1 } });
});
