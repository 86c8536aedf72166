import { expect, test } from "vitest";
import { coerce, ISSUES, remarks, validate } from "../src/index.js";

const raw = (digits: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(digits);

test.each<[name: string, message: unknown, issues: readonly string[]]>([
  ["identify", { type: "identify", userId: "u" }, []],
  ["identify, anonymous", { type: "identify", anonymousId: "a", traits: { x: 1 } }, []],
  ["identify of nobody", { type: "identify" }, ["no_user_anon_id userId"]],
  ["empty ids", { type: "identify", userId: "", anonymousId: "" }, ["no_user_anon_id userId"]],
  ["an empty userId beside an anonymousId", { type: "identify", userId: "", anonymousId: "a" }, []],
  ["traits are text", { type: "identify", userId: "u", traits: "x" }, ["traits_not_object traits"]],
  ["traits are a list", { type: "identify", userId: "u", traits: [1] }, ["traits_not_object traits"]],
  [
    "traits are a number kept raw",
    { type: "identify", userId: "u", traits: raw("12345678901234567890") },
    ["traits_not_object traits"],
  ],
  ["a null userId beside an anonymousId", { type: "identify", userId: null, anonymousId: "a" }, []],
  ["track", { type: "track", event: "E", userId: "u" }, []],
  ["track without event", { type: "track", userId: "u" }, ["event_not_defined event"]],
  ["track with an empty event", { type: "track", event: "", userId: "u" }, ["event_not_defined event"]],
  ["track with null", { type: "track", event: null, userId: "u" }, ["event_not_defined event"]],
  ["track with a number", { type: "track", event: 7, userId: "u" }, ["event_not_string event"]],
  ["track with an object", { type: "track", event: {}, userId: "u" }, ["event_not_string event"]],
  [
    "properties are a number",
    { type: "track", event: "E", userId: "u", properties: 1 },
    ["properties_not_object properties"],
  ],
  [
    "everything wrong at once",
    { type: "track", context: 1, integrations: [1], messageId: {} },
    [
      "context_not_object context",
      "integrations_not_object integrations",
      "message_id_not_string messageId",
      "no_user_anon_id userId",
      "event_not_defined event",
    ],
  ],
  ["page", { type: "page", userId: "u" }, []],
  ["page with name and category", { type: "page", userId: "u", name: "Home", category: "Docs" }, []],
  [
    "a category without a name",
    { type: "page", userId: "u", category: "Docs" },
    ["category_without_name name"],
  ],
  [
    "a category with an empty name",
    { type: "screen", userId: "u", name: "", category: "Docs" },
    ["category_without_name name"],
  ],
  ["an empty category needs no name", { type: "screen", userId: "u", category: "" }, []],
  ["name is a number", { type: "page", userId: "u", name: 1 }, ["name_not_string name"]],
  [
    "properties of a page are a list",
    { type: "page", userId: "u", properties: [1] },
    ["properties_not_object properties"],
  ],
  [
    "category is a list",
    { type: "page", userId: "u", name: "n", category: [] },
    ["category_not_string category"],
  ],
  ["group", { type: "group", userId: "u", groupId: "g" }, []],
  ["group without groupId", { type: "group", userId: "u" }, ["group_id_required groupId"]],
  [
    "group with traits that are text",
    { type: "group", userId: "u", groupId: "g", traits: "x" },
    ["traits_not_object traits"],
  ],
  ["group with an object", { type: "group", userId: "u", groupId: {} }, ["group_id_not_string groupId"]],
  ["alias", { type: "alias", userId: "u", previousId: "p" }, []],
  ["alias without userId", { type: "alias", anonymousId: "a", previousId: "p" }, ["user_id_required userId"]],
  ["alias of nobody", { type: "alias", previousId: "p" }, ["user_id_required userId"]],
  ["alias without previousId", { type: "alias", userId: "u" }, ["previous_id_required previousId"]],
  [
    "alias with a list",
    { type: "alias", userId: "u", previousId: [] },
    ["previous_id_not_string previousId"],
  ],
  ["userId is true", { type: "identify", userId: true }, ["user_id_not_string userId"]],
  [
    "anonymousId is a list",
    { type: "identify", userId: "u", anonymousId: [1] },
    ["anonymous_id_not_string anonymousId"],
  ],
  ["99 characters of messageId", { type: "page", userId: "u", messageId: "x".repeat(99) }, []],
  [
    "100 characters of messageId",
    { type: "page", userId: "u", messageId: "x".repeat(100) },
    ["message_id_too_long messageId"],
  ],
  ["no type", { userId: "u" }, ["type_unknown type"]],
  ["delete is outbound only", { type: "delete", userId: "u" }, ["type_unknown type"]],
  ["a type in capitals", { type: "Track", userId: "u", event: "E" }, ["type_unknown type"]],
  ["a type of the prototype", { type: "constructor", userId: "u" }, ["type_unknown type"]],
  ["null", null, ["not_an_object "]],
  ["text", "track", ["not_an_object "]],
  ["a list", [{ type: "page", userId: "u" }], ["not_an_object "]],
  ["a number kept raw", raw("12345678901234567890"), ["not_an_object "]],
  ["unknown fields are no issue", { type: "page", userId: "u", colour: "red", channel: null }, []],
])("validate: %s", (_name, message, issues) => {
  const found = validate(message);
  expect(found.map(({ code, path }) => `${code} ${path}`)).toEqual(issues);
  for (const { code, message: text } of found) expect(text).toBe(ISSUES[code]);
});

test.each<[name: string, timestamp: unknown, codes: readonly string[]]>([
  ["none", undefined, []],
  ["null", null, []],
  ["good", "2026-11-21T09:30:08+0000", []],
  ["text", "yesterday", ["timestamp_unparseable"]],
  ["a number", 1_795_253_408_276, ["timestamp_unparseable"]],
])("remarks: a timestamp that is %s", (_name, timestamp, codes) => {
  const message = { type: "page", userId: "u", timestamp };
  expect(validate(message)).toEqual([]);
  expect(remarks(message)).toEqual(codes.map((code) => expect.objectContaining({ code, path: "timestamp" })));
});

test.each<[name: string, message: object, around: Parameters<typeof coerce>[1], expected: object]>([
  ["nothing to do", { type: "page", userId: "u" }, {}, { type: "page", userId: "u" }],
  ["a kind from the path", { userId: "u" }, { kind: "page" }, { type: "page", userId: "u" }],
  ["the path's kind wins", { type: "track", userId: "u" }, { kind: "page" }, { type: "page", userId: "u" }],
  [
    "numeric ids",
    { type: "group", userId: 7, groupId: 0, messageId: 1.5 },
    {},
    { type: "group", userId: "7", groupId: "0", messageId: "1.5" },
  ],
  [
    "an id beyond 2^53",
    { type: "page", userId: raw("12345678901234567890") },
    {},
    { type: "page", userId: "12345678901234567890" },
  ],
  [
    "a bigint id",
    { type: "page", userId: 12_345_678_901_234_567_890n },
    {},
    { type: "page", userId: "12345678901234567890" },
  ],
  ["no digits for NaN", { type: "page", userId: Number.NaN }, {}, { type: "page", userId: Number.NaN }],
  [
    "nulls",
    {
      type: "track",
      event: null,
      userId: "u",
      anonymousId: null,
      properties: null,
      context: null,
      integrations: null,
      timestamp: null,
      sentAt: null,
    },
    {},
    { type: "track", userId: "u" },
  ],
  [
    "nulls elsewhere stay",
    { type: "page", userId: "u", properties: { a: null }, colour: null },
    {},
    { type: "page", userId: "u", properties: { a: null }, colour: null },
  ],
  [
    "PHP's empty lists",
    { type: "track", event: "E", userId: "u", properties: [], context: [], integrations: [] },
    {},
    { type: "track", event: "E", userId: "u", properties: {}, context: {}, integrations: {} },
  ],
  [
    "a list with something in it stays",
    { type: "track", properties: [1] },
    {},
    { type: "track", properties: [1] },
  ],
  [
    "Go's page traits",
    { type: "page", userId: "u", traits: { url: "x" } },
    {},
    { type: "page", userId: "u", properties: { url: "x" } },
  ],
  [
    "a screen's traits",
    { type: "screen", userId: "u", traits: { a: 1 } },
    {},
    { type: "screen", userId: "u", properties: { a: 1 } },
  ],
  [
    "traits beside properties stay",
    { type: "page", userId: "u", traits: { a: 1 }, properties: { b: 2 } },
    {},
    { type: "page", userId: "u", traits: { a: 1 }, properties: { b: 2 } },
  ],
  [
    "traits beside null properties",
    { type: "page", userId: "u", traits: { a: 1 }, properties: null },
    {},
    { type: "page", userId: "u", properties: { a: 1 } },
  ],
  [
    "an identify's traits stay",
    { type: "identify", userId: "u", traits: { a: 1 } },
    {},
    { type: "identify", userId: "u", traits: { a: 1 } },
  ],
  [
    "RudderStack's traits of an identify",
    { type: "identify", userId: "u", context: { traits: { a: 1 }, ip: "x" } },
    {},
    { type: "identify", userId: "u", traits: { a: 1 }, context: { traits: { a: 1 }, ip: "x" } },
  ],
  [
    "an identify's own traits before those of its context",
    { type: "identify", userId: "u", traits: {}, context: { traits: { a: 1 } } },
    {},
    { type: "identify", userId: "u", traits: {}, context: { traits: { a: 1 } } },
  ],
  [
    "a track's context.traits",
    { type: "track", userId: "u", event: "E", context: { traits: { a: 1 } } },
    {},
    { type: "track", userId: "u", event: "E", context: { traits: { a: 1 } } },
  ],
  [
    "the batch's context",
    { type: "page", userId: "u" },
    { context: { library: "go" } },
    { type: "page", userId: "u", context: { library: "go" } },
  ],
  [
    "under the message's own",
    { type: "page", userId: "u", context: { a: 1 } },
    { context: { a: 2, b: 2 } },
    { type: "page", userId: "u", context: { a: 1, b: 2 } },
  ],
  [
    "over PHP's empty list",
    { type: "page", userId: "u", context: [] },
    { context: { b: 2 } },
    { type: "page", userId: "u", context: { b: 2 } },
  ],
  [
    "the batch's integrations",
    { type: "page", userId: "u", integrations: { All: true } },
    { integrations: { All: false, X: true } },
    { type: "page", userId: "u", integrations: { All: true, X: true } },
  ],
  [
    "a context that is no object is left for the validator",
    { type: "page", context: "x" },
    { context: { a: 1 } },
    { type: "page", context: "x" },
  ],
  ["around that is no object", { type: "page" }, { context: "x", integrations: [1] }, { type: "page" }],
  [
    "sentAt of the envelope",
    { type: "page" },
    { sentAt: "2026-11-21T09:30:08Z" },
    { type: "page", sentAt: "2026-11-21T09:30:08Z" },
  ],
  ["the message's own sentAt", { type: "page", sentAt: "a" }, { sentAt: "b" }, { type: "page", sentAt: "a" }],
])("coerce: %s", (_name, message, around, expected) => {
  expect(coerce({ ...message }, around)).toEqual(expected);
});

test("coerce: a field called __proto__ is data, and changes no prototype", () => {
  const message = JSON.parse('{"type":"page","context":{"__proto__":{"isAdmin":true}}}');
  coerce(message, { context: JSON.parse('{"__proto__":{"isRoot":true},"b":1}') });
  expect(JSON.stringify(message)).toBe('{"type":"page","context":{"__proto__":{"isAdmin":true},"b":1}}');
  expect(message.context.isAdmin).toBeUndefined();
  expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
});

test("coerce: what two messages of a batch get from it is not shared", () => {
  const around = { context: { library: "go" } };
  const [first, second] = [coerce({ type: "page" }, around), coerce({ type: "page" }, around)];
  (first.context as { library: string }).library = "changed";
  expect(second.context).toEqual({ library: "go" });
});
