import { startTestCollector } from "@sluice/collector/testing";
import { contractOf } from "@sluice/destination/contract";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore what the tests of destination packages do alike
import { attempt, deliver, message, openedFor } from "../../../test/destinations/on-a-server.ts";
// @boundaries-ignore the built collector is started for tests of several packages
import {
  killBeforeAnswer,
  killUnderLoad,
  startedCollector,
} from "../../../test/destinations/started-collector.ts";
import clickhouse from "../src/index.js";
import {
  type ClickHouseServer,
  clickHouseServer,
  freePort,
  IS_INSTALLED,
  PASSWORD,
} from "./clickhouse-server.js";

if (!IS_INSTALLED && process.env.CI === undefined)
  console.warn("skipped: tests with ClickHouse need its engine: npm run chdb:install");

describe.skipIf(!IS_INSTALLED && process.env.CI === undefined)("on ClickHouse's engine", () => {
  let server: ClickHouseServer;
  let tables = 0;
  beforeAll(async () => {
    server = await clickHouseServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const settingsOf = (change: object = {}) => ({
    ...{ url: server.url, database: "default", table: `t${++tables}` },
    ...{ user: "default", password: PASSWORD, maxAgeSeconds: 1 },
    ...change,
  });

  const opened = (settings: object) => openedFor(clickhouse, settings);
  const idsIn = async (table: string, final = "FINAL"): Promise<string[]> =>
    (await server.query(`SELECT message_id FROM ${table} ${final} ORDER BY message_id`)).map(
      ({ message_id }) => String(message_id),
    );

  describe("the contract", () => {
    let table: string;
    const checks = contractOf({
      destination: clickhouse,
      settings: async () => {
        const settings = settingsOf();
        table = settings.table;
        return settings;
      },
      unreachable: async () => settingsOf({ url: `http://127.0.0.1:${await freePort()}` }),
      arrived: () => idsIn(table),
    });
    it.each(checks)("$name", ({ run }) => run());
  });

  it("writes typed columns, and the other fields as JSON", async () => {
    const settings = settingsOf();
    const properties = { plan: "pro", text: "a\u0000b '\\' 😀" };
    await deliver(
      await opened(settings),
      message("m1", { properties }),
      message("m2", { type: "page", event: undefined, name: "Home", userId: undefined, anonymousId: "a1" }),
    );
    expect(await server.query(`SELECT * FROM ${settings.table} ORDER BY message_id`)).toMatchObject([
      {
        ...{ message_id: "m1", source_id: "src_1", type: "track", event: "Ordered", user_id: "u1" },
        ...{ timestamp: "2026-01-02 03:04:05.678", received_at: "2026-01-02 03:04:06.000" },
        message: { properties },
      },
      { message_id: "m2", name: "Home", user_id: null, anonymous_id: "a1" },
    ]);
  });

  it("adds nothing if the same batch comes again", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    for (let times = 0; times < 3; times++) await deliver(open, message("m1"), message("m2"));
    expect(await idsIn(settings.table, "")).toEqual(["m1", "m2"]);
  });

  it("erases a user, and the devices that nobody else used with an account", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    const of = (id: string, userId: string | undefined, anonymousId: string) =>
      message(id, { userId, anonymousId });
    const user = "o'neil \\' OR 1=1 --";
    const joined = message("m5", { type: "alias", userId: undefined, "Previous ID": "a3", "User ID": user });
    // Each is a part of the table, and a deletion goes through them one after the other.
    for (const one of [
      ...[of("m1", user, "a1"), of("m2", undefined, "a1"), of("m3", "u2", "a2"), of("m4", undefined, "a2")],
      ...[joined, of("m6", undefined, "a3"), of("m7", "a3", "a1")],
      // Clients send an empty user id for a visitor.
      ...[of("m8", "", "a1"), of("m9", "", "a2")],
    ])
      await deliver(open, one);
    expect(await open.erase?.({ userId: user }, attempt())).toMatchObject({ reason: "erased" });
    expect(await idsIn(settings.table)).toEqual(["m3", "m4", "m7", "m9"]);
    expect(await open.erase?.({ anonymousId: "a2" }, attempt())).toMatchObject({ reason: "erased" });
    expect(await idsIn(settings.table)).toEqual(["m3", "m7"]);
  });

  it.each<[string, object, string, RegExp]>([
    ["a wrong password", { password: "wrong horse" }, "AUTHENTICATION_FAILED", /refused the user default/],
    ["no server", { url: "http://127.0.0.1:1" }, "ECONNREFUSED", /Nothing listens at 127\.0\.0\.1:1\./],
    ["no database", { database: "nowhere" }, "UNKNOWN_DATABASE", /There is no database nowhere/],
  ])("says what to do: %s", async (_name, change, reason, expected) => {
    const result = await deliver(await opened(settingsOf(change)), message("m1"));
    expect(result).toMatchObject({ kind: "retry", reason, detail: expect.stringMatching(expected) });
    expect(JSON.stringify(result)).not.toContain("wrong horse");
  });

  it("creates a table again that was dropped, and waits for one that was changed", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    await deliver(open, message("m1"));
    await server.query(`DROP TABLE ${settings.table}`);
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "retry", reason: "UNKNOWN_TABLE" });
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "delivered" });
    await server.query(`ALTER TABLE ${settings.table} RENAME COLUMN event TO what`);
    expect(await deliver(open, message("m3"))).toMatchObject({ detail: /not as it was created/ });
    await server.query(`ALTER TABLE ${settings.table} RENAME COLUMN what TO event`);
    expect(await deliver(open, message("m3"))).toMatchObject({ kind: "delivered" });
    expect(await idsIn(settings.table)).toEqual(["m2", "m3"]);
  });

  it("takes messages of a started collector once each while it is killed under load", async () => {
    const settings = settingsOf();
    await using collector = await startedCollector("@sluice/destination-clickhouse");
    const connection = await collector.connect("clickhouse", settings);
    const arrived = () =>
      idsIn(settings.table, "").then(
        ({ length }) => length,
        () => 0,
      );
    const sent = await killUnderLoad(connection, server, arrived);
    expect(new Set(await idsIn(settings.table)).size).toBe(sent);
    expect(collector.said()).not.toMatch(new RegExp(`Warning|${PASSWORD}`));
  }, 240_000);

  it("adds nothing after collector and server were killed before the answer, whatever was changed", async () => {
    const settings = settingsOf();
    const { before, after } = await killBeforeAnswer(
      clickhouse,
      (port) => ({ ...settings, url: `http://127.0.0.1:${port}` }),
      { ...server, port: Number(new URL(server.url).port), statement: "INSERT INTO" },
      () => server.query(`SELECT * FROM ${settings.table} ORDER BY position`).catch(() => []),
    );
    expect(after).toEqual(before);
  }, 120_000);
});

it.each<[object, string]>([
  [{ url: "ftp://x" }, "settings.url"],
  [{ url: "https://clickhouse.example/path" }, "settings.url"],
  [{ database: "a b" }, "settings.database"],
  [{ table: "a`b" }, "settings.table"],
  [{ user: "a b" }, "settings.user"],
])("refuses %j", async (change, path) => {
  const collector = await startTestCollector({ destinations: [clickhouse] });
  onTestFinished(() => collector.close());
  const settings = { url: "https://clickhouse.example:8443", password: "hunter2", ...change };
  const body = { type: "clickhouse", sourceIds: [collector.sourceId], settings };
  await expect(collector.api("POST", "/destinations", body)).rejects.toThrow(`"path":"${path}"`);
});
