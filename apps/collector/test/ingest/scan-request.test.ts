import { findWriteKey, scanRequest } from "@sluice/event-log";
import { MESSAGE_KINDS, type MessageKind } from "@sluice/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openRequest } from "../../src/ingest/messages/open-request.js";
import { validateMessages } from "../../src/ingest/messages/validate-messages.js";
import { namedKeys } from "../../src/ingest/sources/authenticator.js";

/** What the parser and the validator make of a request, in the form of a scan. Throws if either refuses something. */
function judged(body: Uint8Array, kind: MessageKind | undefined) {
  const opened = openRequest(body, kind);
  const judgement = validateMessages(opened, { isForeignKey: () => true, makeId: () => "made" });
  expect(judgement.refusals).toEqual([]);
  expect(judgement.madeIds).toEqual([]);
  expect(judgement.wantsIp).toBe(false);
  expect(Buffer.from(opened.body)).toEqual(Buffer.from(body));
  return { keys: judgement.keys, writeKey: namedKeys(opened).ofRequest, isBatch: opened.isBatch };
}

/** Whether the scan accepted the text. If it did, the parser and the validator must agree with it. */
function agrees(text: string | Uint8Array, kind: MessageKind | undefined): boolean {
  const body = Buffer.from(text as string);
  const scanned = scanRequest(body, kind);
  if (scanned === undefined) return false;
  const { keys, writeKey, isBatch } = scanned;
  expect({ keys, writeKey, isBatch }).toEqual(judged(body, kind));
  expect(findWriteKey(body, kind === undefined)).toBe(writeKey);
  return true;
}

const message = (fields: object = {}): object => ({
  type: "track",
  event: "Order Completed",
  messageId: "m-1",
  userId: "u-1",
  context: { library: { name: "analytics-node", version: "2.0.0" }, ip: "203.0.113.7" },
  properties: { total: 129.95, coupon: null, products: [{ sku: "A-1", on: true, off: false }] },
  timestamp: "2026-11-21T09:30:08.276Z",
  ...fields,
});
const batch = (...items: object[]): string =>
  JSON.stringify({ batch: items, sentAt: "2026-11-21T09:30:08Z" });

describe("scanRequest", () => {
  test.each<[string, string, MessageKind | undefined]>([
    ["a batch", batch(message(), message({ messageId: "m-2" })), undefined],
    [
      "a batch with white space everywhere",
      JSON.stringify(JSON.parse(batch(message())), null, "\t"),
      undefined,
    ],
    [
      "its own context and integrations",
      JSON.stringify({ context: { a: 1 }, integrations: { All: false }, writeKey: "wk", batch: [message()] }),
      undefined,
    ],
    ["an import without delivery", JSON.stringify({ deliver: false, batch: [message()] }), undefined],
    [
      "each kind",
      batch(
        message({ type: "identify", event: undefined, traits: { a: [] } }),
        message({ type: "page", name: "Home", category: "Docs" }),
        message({ type: "screen", userId: undefined, anonymousId: "a-1" }),
        message({ type: "group", groupId: "g-1" }),
        message({ type: "alias", previousId: "p-1" }),
      ),
      undefined,
    ],
    ["a single message", JSON.stringify(message()), "track"],
    [
      "a single message whose path names another kind",
      JSON.stringify(message({ writeKey: "wk" })),
      "identify",
    ],
    ["a single message without a type", JSON.stringify(message({ type: undefined })), "track"],
    ["letters of every script", batch(message({ userId: "ключ", event: "注文 😀" })), undefined],
    ["escapes outside of ids", batch(message({ properties: { 'a"\\\n\u0001': "\b\f\r\t/" } })), undefined],
    [
      "numbers of every form",
      '{"batch":[{"type":"track","event":"e","messageId":"m","userId":"u","properties":{"a":[0,-0,10,-1.5,0.25,1e5,1E+5,1.5e-7,12345678901234567890,1e999]}}]}',
      undefined,
    ],
    ["a message that has a batch", JSON.stringify(message({ batch: [1] })), "track"],
  ])("takes %s", (_name, text, kind) => {
    expect(agrees(text, kind)).toBe(true);
  });

  test.each<[string, string | Uint8Array, MessageKind | undefined]>([
    ["no batch", "{}", undefined],
    ["an empty batch", '{"batch":[]}', undefined],
    ["bytes after its end", `${batch(message())}x`, undefined],
    ["a byte order mark", `\ufeff${batch(message())}`, undefined],
    [
      "half a character",
      Buffer.concat([
        Buffer.from('{"batch":[{"type":"identify","messageId":"m","userId":"u'),
        Buffer.from([0xc3]),
        Buffer.from('"}]}'),
      ]),
      undefined,
    ],
    ["a line feed in a string", batch(message()).replace("Order Completed", "Order\nCompleted"), undefined],
    ["an unknown escape", batch(message()).replace("129.95", '"\\x41"'), undefined],
    ["half an escape", batch(message()).replace("129.95", '"\\u004"'), undefined],
    ["a number that begins with zero", batch(message()).replace("129.95", "0129"), undefined],
    ["a number that ends with a point", batch(message()).replace("129.95", "129."), undefined],
    ["a number without digits", batch(message()).replace("129.95", "-"), undefined],
    ["an exponent without digits", batch(message()).replace("129.95", "1e+"), undefined],
    ["a word that is none", batch(message()).replace("null", "nul"), undefined],
    ["a comma too many", batch(message()).replace("null", "null,"), undefined],
    ["an array's comma too many", batch(message()).replace("}]}", "},]}"), undefined],
    ["a colon too few", batch(message()).replace('"total":', '"total"'), undefined],
    ["a key without quotes", batch(message()).replace('"total"', "total"), undefined],
    ["a key twice", batch(message()).replace('"userId"', '"userId":"u-0","userId"'), undefined],
    ["a key that is escaped", batch(message()).replace('"userId"', '"user\\u0049d"'), undefined],
    ["an id that is escaped", batch(message()).replace("u-1", "u\\u002d1"), undefined],
    ["an id of 100 characters", batch(message({ messageId: "m".repeat(100) })), undefined],
    ["a message without an id", batch(message({ messageId: undefined })), undefined],
    ["a number as id", batch(message({ userId: 17 })), undefined],
    ["null as id", batch(message({ anonymousId: null })), undefined],
    ["nobody", batch(message({ userId: undefined })), undefined],
    ["an empty array as properties", batch(message({ properties: [] })), undefined],
    ["null as context", batch(message({ context: null })), undefined],
    ["a context that asks for the address", batch(message({ context: { direct: true } })), undefined],
    ["a browser's library", batch(message({ context: { library: { name: "analytics.js" } } })), undefined],
    [
      "a batch's context of a browser",
      JSON.stringify({ batch: [message()], context: { library: { name: "analytics.js" } } }),
      undefined,
    ],
    ["a message's own write key", batch(message({ writeKey: "wk" })), undefined],
    ["an unknown type", batch(message({ type: "delete" })), undefined],
    ["no type", batch(message({ type: undefined })), undefined],
    ["a track without event", batch(message({ event: "" })), undefined],
    ["a category without name", batch(message({ type: "page", category: "Docs" })), undefined],
    ["a group without id", batch(message({ type: "group" })), undefined],
    [
      "an alias of an anonymous user",
      batch(message({ type: "alias", previousId: "p", userId: undefined, anonymousId: "a" })),
      undefined,
    ],
    ["a message over 32 KB", batch(message({ properties: { a: "x".repeat(32_768) } })), undefined],
    [
      "2,501 messages",
      batch(...Array.from({ length: 2_501 }, () => ({ type: "identify", messageId: "m", userId: "u" }))),
      undefined,
    ],
    ["40 levels", batch(message()).replace("129.95", `${"[".repeat(40)}1${"]".repeat(40)}`), undefined],
    ["an item that is no object", '{"batch":[1]}', undefined],
    ["an array around it", `[${JSON.stringify(message())}]`, "track"],
  ])("leaves %s to the parser", (_name, text, kind) => {
    expect(agrees(text, kind)).toBe(false);
  });

  test("accepts nothing that the parser and the validator would not, and agrees with them", () => {
    const oddValue = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom("", null, [], {}, 0, 2 ** 60, "x".repeat(99), "é".repeat(60), "analytics.js"),
      fc.record({ direct: fc.boolean() }),
      fc.record({ library: fc.record({ name: fc.constantFrom("analytics.js", "x", "\ud800") }) }),
    );
    const field = fc.constantFrom(
      ...["type", "event", "messageId", "userId", "anonymousId", "groupId", "previousId", "name", "category"],
      ...[
        "context",
        "integrations",
        "properties",
        "traits",
        "writeKey",
        "timestamp",
        "sentAt",
        "batch",
        "other",
        "__proto__",
      ],
    );
    const item = fc
      .tuple(
        fc.constantFrom<string>(...MESSAGE_KINDS),
        fc.array(fc.tuple(field, oddValue), { maxLength: 3 }),
        fc.boolean(),
      )
      .map(([type, odd, isFull]) => {
        const base = {
          ...message({ type }),
          ...(isFull ? { groupId: "g", previousId: "p", name: "n" } : {}),
        };
        const fields = [...Object.entries(base), ...odd].filter(([, value]) => value !== undefined);
        // Written by hand: an object would not keep a key twice.
        return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;
      });
    const request = fc.oneof(
      fc.tuple(fc.constantFrom(...MESSAGE_KINDS), item).map(([kind, text]) => ({ kind, text })),
      fc
        .tuple(
          fc.array(item, { minLength: 1, maxLength: 3 }),
          fc.array(fc.tuple(field, oddValue), { maxLength: 2 }),
        )
        .map(([items, around]) => ({
          kind: undefined,
          text: `{"batch":[${items.join(",")}]${around.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join("")}}`,
        })),
    );
    const damage = fc.option(
      fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(...'{}[]",:\\0e.-n '), fc.constant(""))),
    );
    let taken = 0;
    fc.assert(
      fc.property(request, damage, ({ kind, text }, change) => {
        const at = change === null ? 0 : change[0] % text.length;
        const damaged = change === null ? text : text.slice(0, at) + change[1] + text.slice(at + 1);
        if (agrees(damaged, kind)) taken++;
      }),
      { numRuns: 20_000 },
    );
    expect(taken).toBeGreaterThan(2_000);
  });
});
