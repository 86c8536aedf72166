import { createHash, createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { openSandboxes, type TransformItem } from "../src/index.js";
import { codeOf, itemOf } from "./items.js";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

const FOLDER = new URL("../snippets/", import.meta.url);

async function run(name: string, items: readonly TransformItem[], secrets = {}): Promise<readonly unknown[]> {
  const code = codeOf(readFileSync(new URL(`${name}.ts`, FOLDER), "utf8"), { secrets });
  const results = await sandboxes.run(code, items);
  return results.map((result) => (result.kind === "messages" ? result.messages : result.kind));
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("the snippets", () => {
  it("hash-email replaces addresses in traits, with or without a key", async () => {
    const identify = itemOf({ type: "identify", traits: { email: " Ada@Example.com ", plan: "pro" } });
    const track = itemOf({ context: { traits: { email: "ada@example.com" } } });
    const plain = sha256("ada@example.com");
    expect(await run("hash-email", [identify, track, itemOf()])).toMatchObject([
      [{ traits: { email: plain, plan: "pro" } }],
      [{ context: { traits: { email: plain } } }],
      "same",
    ]);
    const keyed = createHmac("sha256", "pepper-1").update("ada@example.com").digest("hex");
    expect(await run("hash-email", [identify], { PEPPER: "pepper-1" })).toMatchObject([
      [{ traits: { email: keyed } }],
    ]);
  });

  it("drop-bots drops by user agent", async () => {
    const by = (userAgent: string) => itemOf({ context: { userAgent } });
    const agents = ["Googlebot/2.1", "Mozilla/5.0 HeadlessChrome/120", "Mozilla/5.0 Firefox/130.0"];
    expect(await run("drop-bots", [...agents.map(by), itemOf()])).toEqual([
      "dropped",
      "dropped",
      "same",
      "same",
    ]);
  });

  it("rename-events renames those that it knows, and writes others in one way", async () => {
    const items = ["Order Completed", "Some Other-Event", "sign_up"].map((event) => itemOf({ event }));
    expect(await run("rename-events", [...items, itemOf({ type: "page", name: "Home" })])).toMatchObject([
      [{ event: "purchase" }],
      [{ event: "some_other_event" }],
      "same",
      "same",
    ]);
  });

  it("split-by-country makes a message for each country", async () => {
    const products = [
      { sku: "a", country: "DE", price: 0.1, quantity: 3 },
      { sku: "b", country: "FR", price: 5 },
      { sku: "c", country: "DE", price: 0.2 },
    ];
    expect(
      await run("split-by-country", [itemOf({ properties: { products, total: 5.5 } }), itemOf()]),
    ).toMatchObject([
      [
        {
          messageId: "m.1",
          properties: { country: "DE", total: 0.5, products: [{ sku: "a" }, { sku: "c" }] },
        },
        { messageId: "m.2", properties: { country: "FR", total: 5, products: [{ sku: "b" }] } },
      ],
      "same",
    ]);
  });

  it("mask-card-numbers masks numbers that are cards, wherever they are", async () => {
    const properties = {
      note: "paid with 4111 1111 1111 1111, order 4111111111111112",
      list: ["5500-0000-0000-0004", 5],
    };
    expect(await run("mask-card-numbers", [itemOf({ properties }), itemOf()])).toMatchObject([
      [
        {
          properties: {
            note: "paid with ************1111, order 4111111111111112",
            list: ["************0004", 5],
          },
        },
      ],
      "same",
    ]);
  });

  it("sample-by-user keeps about a tenth of the users, always the same ones", async () => {
    const items = Array.from({ length: 1_000 }, (_, n) => itemOf({ userId: `u${n}` }));
    const kept = await run("sample-by-user", items);
    expect(kept.filter((one) => one === "same").length).toBeGreaterThan(70);
    expect(kept.filter((one) => one === "same").length).toBeLessThan(130);
    expect(await run("sample-by-user", items)).toEqual(kept);
  });

  it("are all tested here", () => {
    const tested = readFileSync(new URL(import.meta.url), "utf8");
    for (const file of readdirSync(FOLDER)) expect(tested).toContain(`run("${file.replace(/\.ts$/, "")}"`);
  });
});
