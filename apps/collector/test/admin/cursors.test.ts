import { afterAll, beforeAll, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

interface Operation {
  readonly parameters: readonly { readonly name: string }[];
}

let world: CollectorWorld;
/** Every list that pages by cursor, as the collector itself documents them, with ids where its path wants one. */
let lists: string[];

beforeAll(async () => {
  world = await openCollector();
  const audience = await world.api("POST", "/audiences", {
    name: "Pro",
    condition: { kind: "trait", trait: "plan", is: "equals", value: "pro" },
    destinationIds: [],
  });
  const orders = await world.api("POST", "/computed-traits", {
    name: "Orders",
    kind: "count",
    event: "Order",
    destinationIds: [],
  });
  await world.send([
    { type: "identify", messageId: "m-1", userId: "ann", traits: { plan: "pro" } },
    { type: "track", messageId: "m-2", userId: "ann", event: "Order" },
    { type: "track", messageId: "m-3", userId: "ann" },
  ]);
  const shape = await world.api("POST", "/transformations", {
    name: "Shape",
    code: "export default (message) => message",
  });
  const ids: Record<string, string> = {
    transformations: shape.body.id,
    audiences: audience.body.id,
    "computed-traits": orders.body.id,
    sources: world.sourceId,
  };
  const { body } = await world.api("GET", "/openapi.json");
  lists = Object.entries(body.paths as Record<string, Record<string, Operation>>)
    .filter(([, { get }]) => get?.parameters.some(({ name }) => name === "cursor"))
    .map(([path]) => path.replace(/^\/([^/]+)\/\{id\}/, (_, kind) => `/${kind}/${ids[kind]}`));
});
afterAll(() => world.close());

test("pages by cursor are what lists have", () => {
  expect(lists.length).toBeGreaterThanOrEqual(12);
  expect(lists.join()).not.toMatch(/\{|undefined/);
});

test.each([
  "nonsense",
  "-1",
  "1.5",
  "1e3",
  "0x10",
  "Infinity",
  "NaN",
  " 7",
  "7x",
  "null",
  "12345678901234567890",
])("every list refuses the cursor %j, which none has given out, and says so", async (cursor) => {
  const query = `?cursor=${encodeURIComponent(cursor)}`;
  for (const list of [...lists, "/messages?messageId=m-1", "/messages?userId=ann"]) {
    const { status, body } = await world.api(
      "GET",
      list.includes("?") ? list + query.replace("?", "&") : list + query,
    );
    expect({ list, status, code: body.code }).toEqual({ list, status: 400, code: "invalid_request" });
    expect(body.message, list).toMatch(/cursor/);
    // Told once, not once by each thread that it came through.
    expect(body.message.split("invalid_request").length, body.message).toBeLessThanOrEqual(2);
  }
});
