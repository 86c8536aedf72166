import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
  const file = join(at.directory, "people.jsonl");
  const people = Array.from({ length: 2_500 }, (_, i) => ({
    type: "identify",
    userId: `user-${i}`,
    messageId: `p-${i}`,
    traits: { email: `person${i}@example.com`, plan: i % 2 === 0 ? "pro" : "free" },
  }));
  const odd = {
    type: "identify",
    userId: "odd",
    messageId: "odd",
    traits: { note: "50 %\u001b[31m", big: "x".repeat(20_000) },
  };
  await writeFile(file, [...people, odd].map((message) => JSON.stringify(message)).join("\n"));
  await at.sluice(["import", file, "--no-deliver"]);
});
afterAll(() => at[Symbol.asyncDispose]());

const search = async (...args: string[]) =>
  JSON.parse((await at.sluice(["profiles", "list", ...args, "--json"])).out);
const users = (page: { items: { userId: string }[] }) => page.items.map(({ userId }) => userId);

it("lists the newest first, page by page, each once", async () => {
  const page = await search("-n", "3");
  expect(users(page)).toEqual(["odd", "user-2499", "user-2498"]);
  expect(page.total).toBe(2_501);
  const all = await search("-n", "500");
  expect(new Set(users(all)).size).toBe(500);
});

it("finds an old profile by an exact id, a part of an email, and a trait", async () => {
  expect(users(await search("user-0"))).toEqual(["user-0"]);
  expect(users(await search("PERSON17@"))).toEqual(["user-17"]);
  const pro = await search("plan:pro", "-n", "500");
  expect(
    pro.items.every(
      (one: { match: object }) => JSON.stringify(one.match) === '{"field":"plan","value":"pro"}',
    ),
  ).toBe(true);
  const none = await search("no such person");
  expect(none).toEqual({ items: [], searched: 2_501, total: 2_501 });
});

it("takes signs of patterns literally, and escapes what a terminal would obey", async () => {
  expect(users(await search("%"))).toEqual(["odd"]);
  expect(users(await search(".*"))).toEqual([]);
  const { out, err } = await at.sluice(["profiles", "list", "50 %"]);
  expect(out).not.toContain("\u001b");
  expect(out).toContain("\\u001b[31m");
  expect(out.split("\n").every((line) => line.length < 250)).toBe(true);
  expect(err).toContain("2501 of 2501 profiles searched");
});

it("never shows a deleted user again", async () => {
  await at.sluice(["deletions", "create", "user-17", "--yes"]);
  const { id } = JSON.parse((await at.sluice(["deletions", "list", "--json"])).out).items[0];
  while (JSON.parse((await at.sluice(["deletions", "get", id, "--json"])).out).status !== "finished");
  expect((await search("person17@")).items).toEqual([]);
  expect(
    (await search("user-17", "-n", "500")).items.map((one: { userId: string }) => one.userId),
  ).not.toContain("user-17");
});
