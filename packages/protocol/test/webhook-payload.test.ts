import { expect, test } from "vitest";
import { webhookPayload } from "../src/index.js";

type Outbound = Parameters<typeof webhookPayload>[0];
const AT = "2026-11-21T09:30:08.276Z";

/** As text, because the order of the fields is part of the promise. */
test.each<[name: string, message: Outbound, classic: string]>([
  [
    "page",
    { type: "page", userId: "u", properties: { path: "/" } },
    `{"version":1,"type":"page","userId":"u","properties":{"path":"/"},"timestamp":"${AT}"}`,
  ],
  [
    "page with nothing",
    { type: "page", anonymousId: "a" },
    `{"version":1,"type":"page","properties":{},"timestamp":"${AT}"}`,
  ],
  [
    "screen",
    { type: "screen", userId: "u", name: "Home", context: { os: {} } },
    `{"version":1,"type":"screen","userId":"u","name":"Home","timestamp":"${AT}","context":{"os":{}}}`,
  ],
  [
    "screen without context",
    { type: "screen", userId: "u", name: "Home" },
    `{"version":1,"type":"screen","userId":"u","name":"Home","timestamp":"${AT}"}`,
  ],
  [
    "identify",
    { type: "identify", userId: "u", traits: { email: "e" } },
    `{"version":1,"type":"identify","userId":"u","traits":{"email":"e"},"timestamp":"${AT}"}`,
  ],
  [
    "identify without traits",
    { type: "identify", userId: "u" },
    `{"version":1,"type":"identify","userId":"u","traits":{},"timestamp":"${AT}"}`,
  ],
  [
    "track",
    { type: "track", userId: "u", event: "E", properties: { a: 1 } },
    `{"version":1,"type":"track","userId":"u","event":"E","properties":{"a":1},"timestamp":"${AT}"}`,
  ],
  [
    "alias",
    { type: "alias", userId: "new", previousId: "old" },
    `{"version":1,"type":"alias","Previous ID":"old","User ID":"new","timestamp":"${AT}"}`,
  ],
  [
    "group",
    { type: "group", userId: "u", groupId: "g", traits: { name: "n" } },
    `{"version":1,"type":"group","groupId":"g","userId":"u","traits":{"name":"n"},"timestamp":"${AT}"}`,
  ],
  [
    "delete has no version",
    { type: "delete", userId: "u" },
    `{"type":"delete","userId":"u","timestamp":"${AT}"}`,
  ],
])("classic: %s", (_name, message, classic) => {
  expect(JSON.stringify(webhookPayload({ ...message, extra: 1, messageId: "m" }, AT, "classic"))).toBe(
    classic,
  );
});

test("full: the table's fields first, then whatever else the message carried", () => {
  const message: Outbound = {
    messageId: "m",
    type: "track",
    anonymousId: "a",
    timestamp: "2026-11-21T09:30:00Z",
    originalTimestamp: "2026-11-21T09:29:00Z",
    event: "E",
    userId: "u",
    colour: "red",
    context: { ip: "1.2.3.4" },
  };
  expect(JSON.stringify(webhookPayload(message, AT))).toBe(
    `{"version":1,"type":"track","userId":"u","event":"E","properties":{},"timestamp":"${AT}","messageId":"m",` +
      `"anonymousId":"a","originalTimestamp":"2026-11-21T09:29:00Z","colour":"red","context":{"ip":"1.2.3.4"}}`,
  );
});

test("full: alias does not repeat what stands under another name", () => {
  const body = webhookPayload({ type: "alias", userId: "new", previousId: "old", anonymousId: "a" }, AT);
  expect(Object.keys(body)).toEqual([
    "version",
    "type",
    "Previous ID",
    "User ID",
    "timestamp",
    "anonymousId",
  ]);
});

test("full: the write key never goes out, a message's own version does not replace ours", () => {
  expect(webhookPayload({ type: "page", userId: "u", writeKey: "wk", version: 9 }, AT)).toEqual({
    version: 1,
    type: "page",
    userId: "u",
    properties: {},
    timestamp: AT,
  });
});

test("full: a field called __proto__ is data", () => {
  const message = JSON.parse('{"type":"page","userId":"u","__proto__":{"x":1}}');
  const body = webhookPayload(message, AT);
  expect(JSON.stringify(body)).toContain('"__proto__":{"x":1}');
  expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
});

test("full: a delete carries its three fields only", () => {
  expect(Object.keys(webhookPayload({ type: "delete", userId: "u", messageId: "m" }, AT))).toEqual([
    "type",
    "userId",
    "timestamp",
  ]);
});
