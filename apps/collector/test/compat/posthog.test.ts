import { LIMITS } from "@sluice/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type IngestServer, SOURCE_ID, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(() => server.close());

const stored = async () => (await server.messages()).map(({ message }) => message);
const post = (path: string, body: unknown, headers = {}) => server.post(path, body, headers);
const batch = (...events: unknown[]) => ({ api_key: WRITE_KEY, batch: events });
const event = (name: string, more: object = {}) => ({ event: name, distinct_id: "u1", uuid: "m1", ...more });
const LIBRARY = { $lib: "posthog-python", $lib_version: "7.0.0" };

describe("PostHog's events become messages", () => {
  test.each<[name: string, event: object, message: object]>([
    [
      "an event",
      event("Ordered", {
        timestamp: "2026-11-21T12:00:00+01:00",
        properties: { total: 0.1, ...LIBRARY, $ip: "192.0.2.1", $groups: { company: "c1" } },
      }),
      {
        type: "track",
        messageId: "m1",
        userId: "u1",
        event: "Ordered",
        timestamp: "2026-11-21T12:00:00+01:00",
        properties: { total: 0.1 },
        context: {
          library: { name: "posthog-python", version: "7.0.0" },
          ip: "192.0.2.1",
          posthog: { $groups: { company: "c1" } },
        },
      },
    ],
    [
      "an event that sets traits",
      event("Ordered", { properties: { $set: { plan: "pro" }, $set_once: { first: "a" } } }),
      { type: "track", properties: {}, context: { traits: { plan: "pro", first: "a" } } },
    ],
    [
      "an event of nobody",
      event("Seen", { properties: { $process_person_profile: false } }),
      { type: "track", anonymousId: "u1", event: "Seen" },
    ],
    [
      "$identify, with traits beside the properties",
      event("$identify", { $set: { plan: "pro" }, properties: LIBRARY }),
      { type: "identify", userId: "u1", traits: { plan: "pro" } },
    ],
    [
      "$identify of a visitor who was anonymous",
      event("$identify", { properties: { $anon_distinct_id: "a1", $set: { plan: "pro" } } }),
      { type: "identify", userId: "u1", anonymousId: "a1", traits: { plan: "pro" } },
    ],
    [
      "$set",
      event("$set", { $set: { plan: "pro" }, $set_once: { plan: "free", first: 1 } }),
      { type: "identify", traits: { plan: "pro", first: 1 } },
    ],
    [
      "$create_alias, with its id in the properties",
      { event: "$create_alias", uuid: "m1", properties: { distinct_id: "u1", alias: "a1", ...LIBRARY } },
      { type: "alias", userId: "u1", previousId: "a1" },
    ],
    [
      "$groupidentify of nobody",
      event("$groupidentify", {
        distinct_id: "$company_c1",
        properties: { $group_type: "company", $group_key: "c1", $group_set: { seats: 3 } },
      }),
      {
        type: "group",
        anonymousId: "$company_c1",
        groupId: "c1",
        traits: { seats: 3 },
        context: { posthog: { $group_type: "company" } },
      },
    ],
    [
      "$pageview",
      event("$pageview", { properties: { $current_url: "https://example.com/a?b", $title: "A", tab: 1 } }),
      { type: "page", userId: "u1", properties: { url: "https://example.com/a?b", title: "A", tab: 1 } },
    ],
    [
      "$screen",
      event("$screen", { properties: { $screen_name: "Start", first: true } }),
      { type: "screen", userId: "u1", name: "Start", properties: { first: true } },
    ],
  ])("%s", async (_name, sent, message) => {
    const answer = await post("/batch/", batch(sent));
    expect(answer).toMatchObject({ status: 200, body: { success: true, accepted: 1 } });
    expect(await stored()).toMatchObject([message]);
    const { userId, anonymousId } = { userId: undefined, anonymousId: undefined, ...message };
    if (anonymousId !== undefined && userId === undefined)
      expect((await stored())[0]).not.toHaveProperty("userId");
  });

  test.each([
    ["/batch", batch(event("E"))],
    ["/capture/", { api_key: WRITE_KEY, ...event("E") }],
    ["/i/v0/e/", { api_key: WRITE_KEY, ...event("E") }],
    ["/i/v0/e/", batch(event("E"))],
  ])("at %s", async (path, body) => {
    expect((await post(path, body)).status).toBe(200);
    const messages = await server.messages();
    expect(messages).toMatchObject([{ sourceId: SOURCE_ID, messageId: "m1", message: { event: "E" } }]);
    expect(JSON.stringify(messages)).not.toContain(WRITE_KEY);
  });

  test("keeps every digit", async () => {
    const body = `{"batch":[{"event":"E","distinct_id":"u1","properties":{"n":18446744073709551615}}],"api_key":"${WRITE_KEY}"}`;
    expect((await post("/batch/", Buffer.from(body))).status).toBe(200);
    expect(JSON.stringify(await stored())).toContain('"n":18446744073709551615');
  });

  test("a repeated event is stored once", async () => {
    await post("/batch/", batch(event("E")));
    expect((await post("/batch/", batch(event("E")))).body).toMatchObject({ accepted: 1, duplicates: 1 });
  });
});

describe("PostHog's requests", () => {
  test.each([
    ["an unknown key", { api_key: "phc_nobody", batch: [event("E")] }],
    ["no key", { batch: [event("E")] }],
    ["a key in an event only", { batch: [{ ...event("E"), api_key: WRITE_KEY }] }],
    ["no JSON", Buffer.from("api_key")],
  ])("with %s get a 401", async (_name, body) => {
    expect(await post("/batch/", body)).toMatchObject({ status: 401, body: { code: "invalid_write_key" } });
    expect(await stored()).toEqual([]);
  });

  test("are taken without the events that cannot be messages", async () => {
    const deep = `{"event":"E","distinct_id":"u1","properties":${'{"a":'.repeat(2_000)}1${"}".repeat(2_001)}`;
    const events = [
      event("Good"),
      7,
      { event: "Nobody" },
      event("Large", { properties: { fill: "x".repeat(40_000) } }),
    ];
    const body = JSON.stringify(batch(...events)).replace(/\]\}$/, `,${deep}]}`);
    const answer = await post("/batch/", Buffer.from(body));
    expect(answer).toMatchObject({ status: 200, body: { accepted: 1 } });
    expect(answer.body.rejected).toMatchObject([
      { index: 1, code: "not_an_object" },
      { index: 2, code: "no_user_anon_id" },
      { index: 3, code: "message_too_large" },
      { index: 4, code: "nested_too_deep" },
    ]);
    expect(await stored()).toMatchObject([{ event: "Good" }]);
  });

  test.each([
    ["malformed_json", 400, Buffer.from(`{"api_key":"${WRITE_KEY}","batch":[{]}`)],
    [
      "malformed_json",
      400,
      Buffer.concat([
        Buffer.from(`{"api_key":"${WRITE_KEY}","batch":["`),
        Buffer.of(0xff),
        Buffer.from('"]}'),
      ]),
    ],
    ["payload_too_large", 413, batch(event("E", { properties: { fill: "x".repeat(LIMITS.batchBytes) } }))],
  ])("are refused as %s", async (code, status, body) => {
    expect(await post("/batch/", body)).toMatchObject({ status, body: { code } });
  });
});
