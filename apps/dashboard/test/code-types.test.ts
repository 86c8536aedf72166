import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { authorModules } from "../src/pages/transformations/code/types/author-modules.js";
import { type CheckerApi, openCodeTypes } from "../src/pages/transformations/code/types/checked-code.js";
import { compilerText, libraryTexts } from "../type-checker.js";

const PLAN = {
  track: {
    "Order Completed": {
      properties: { total: { type: "number" }, at: { type: "string", format: "date-time" } },
      required: ["total"],
      additionalProperties: false,
    },
    "Signed Up": { properties: { via: { enum: ["web", "app"] } }, additionalProperties: false },
  },
  identify: { properties: { email: { type: "string" } }, additionalProperties: false },
};
const folder = mkdtempSync(join(tmpdir(), "sluice-types-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "compiler.mjs"), compilerText());
const api = (await import(/* @vite-ignore */ join(folder, "compiler.mjs"))) as CheckerApi;
const library = libraryTexts();
const open = (plans: readonly unknown[]) => openCodeTypes(api, { library, modules: authorModules(plans) });
const planned = open([PLAN]);
const unplanned = open([]);

const HEAD = 'import type { Context, Message } from "@sluice/transformations";\n';
const withTypes = (body: string) =>
  `${HEAD}export default function transform(message: Message, { secrets, log, sha256 }: Context) {\n${body}\nreturn message;\n}`;

test.each([
  [
    "a field of the plan",
    "if (message.type === 'track' && message.event === 'Order Completed') message.properties.total *= 2;",
    "",
  ],
  [
    "another field",
    "if (message.type === 'track' && message.event === 'Order Completed') message.properties.totl = 2;",
    "Did you mean 'total'?",
  ],
  [
    "another event",
    "if (message.type === 'track' && message.event === 'Order Complete') return null;",
    "no overlap",
  ],
  [
    "a wrong value",
    "if (message.type === 'identify' && message.traits) message.traits.email = 5;",
    "not assignable",
  ],
  [
    "a time, which is a text in a message",
    "if (message.type === 'track' && message.event === 'Order Completed') message.properties.at?.slice(0, 4);",
    "",
  ],
  ["a field of another kind", "message.event;", "does not exist"],
  ["what cannot be changed", "message.messageId = 'x';", "read-only"],
  ["a log, a digest and a secret", "log.warn(sha256('a', secrets.KEY)); console.debug(1);", ""],
  ["a wrong digest", "sha256(5);", "not assignable"],
  ["a name that does not exist", "return mesage;", "Did you mean 'message'?"],
  [
    "the language",
    "[3, 1].toSorted(); new Map([[1, 2]]); Object.groupBy([1], String); new Date().toISOString();",
    "",
  ],
  ["the network", "fetch('https://a.example');", "Cannot find name 'fetch'"],
  ["a timer", "setTimeout(() => {}, 1);", "Cannot find name 'setTimeout'"],
  ["chance", "Math.random();", "does not exist"],
  ["another language", "new Intl.NumberFormat('de');", "does not exist"],
  ["mistakes of syntax", "return message +;", "Expression expected"],
])("%s", (_name, body, message) => {
  const found = planned.mistakes(withTypes(body)).map((one) => one.message);
  if (message === "") expect(found).toEqual([]);
  else expect(found).toEqual([expect.stringContaining(message)]);
});

test("a mistake has its place", () => {
  const code = withTypes("log(mesage);");
  const [{ from, to } = { from: 0, to: 0 }] = planned.mistakes(code);
  expect(code.slice(from, to)).toBe("mesage");
});

test("without a plan, any event and property is one; a parameter without a type is no mistake", () => {
  const code = withTypes(
    "if (message.type === 'track') message.properties = { event: message.event === 'Any' };",
  );
  expect(unplanned.mistakes(code)).toEqual([]);
  expect(
    unplanned.mistakes("export default (message, { log }) => { log(message.a.b); return message; }"),
  ).toEqual([]);
});

test("of several plans, each message is one of them", () => {
  const both = open([
    PLAN,
    { track: { Refunded: { properties: { reason: { type: "string" } } } } },
    "no plan",
  ]);
  const body =
    "if (message.type === 'track' && message.event === 'Refunded') log(message.properties.reason);";
  expect(both.mistakes(withTypes(body))).toEqual([]);
});

/** The members at the end of a line in a function. */
const membersAt = (line: string) => {
  const code = withTypes(line);
  const at = code.indexOf(line) + line.length;
  return planned.members(code, at).map(({ label, detail }) => `${label}: ${detail}`);
};

test("an expression completes to what its type has", () => {
  const narrowed = "if (message.type === 'track' && message.event === 'Order Completed') message.properties.";
  expect(membersAt(narrowed)).toEqual(["total: number", "at: string | undefined"]);
  expect(membersAt("message.")).toEqual(expect.arrayContaining(["receivedAt: string", "messageId: string"]));
  expect(membersAt("log.")).toEqual(expect.arrayContaining(["warn: (...values: unknown[]) => void"]));
  expect(membersAt("unknown.")).toEqual([]);
});

test("a name says what it is", () => {
  const code = withTypes(
    "if (message.type === 'track' && message.event === 'Signed Up') log(message.properties.via);",
  );
  const hover = planned.hover(code, code.indexOf("via") + 1);
  expect(hover?.text).toBe('via: "web" | "app" | undefined');
  expect(code.slice(hover?.from, hover?.to)).toBe("via");
  expect(planned.hover(code, code.indexOf("return"))).toBeUndefined();
});
