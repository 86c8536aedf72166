import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestCollector } from "@sluice/collector/testing";
import { contractOf } from "@sluice/destination/contract";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore what the tests of destination packages do alike
import { attempt, connected, deliver, message, openedFor } from "../../../test/destinations/on-a-server.ts";
// @boundaries-ignore the built collector is started for tests of several packages
import {
  killBeforeAnswer,
  killUnderLoad,
  startedCollector,
} from "../../../test/destinations/started-collector.ts";
import postgres from "../src/index.js";
import { freePort, IS_INSTALLED, PASSWORD, type PostgresServer, postgresServer } from "./postgres-server.js";

if (!IS_INSTALLED && process.env.CI === undefined)
  console.warn("skipped: tests with PostgreSQL need its Debian package, postgresql");

const CA = readFileSync(
  join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures/ca.pem"),
  "utf8",
);

describe.skipIf(!IS_INSTALLED && process.env.CI === undefined)("on a real server", () => {
  let server: PostgresServer;
  let tables = 0;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const settingsOf = (change: object = {}) => ({
    host: "127.0.0.1",
    port: server.port,
    database: "postgres",
    user: "postgres",
    password: PASSWORD,
    security: "none",
    schema: "public",
    table: `t${++tables}`,
    maxAgeSeconds: 1,
    ...change,
  });
  type Settings = ReturnType<typeof settingsOf>;

  const countOf = async ({ table }: Settings, column = "*"): Promise<number> =>
    Number((await server.query(`select count(${column}) as n from ${table}`))[0]?.n);

  const collectorWith = (settings: object) =>
    connected(
      startTestCollector({ destinations: [postgres], allowTargets: ["127.0.0.0/8"] }),
      postgres,
      settings,
    );
  const opened = (settings: object) => openedFor(postgres, settings);

  describe("the contract", () => {
    let settings: Settings;
    const checks = contractOf({
      destination: postgres,
      settings: async () => {
        settings = settingsOf();
        return settings;
      },
      unreachable: async () => settingsOf({ port: await freePort() }),
      arrived: async () =>
        (await server.query(`select message_id from ${settings.table}`)).map(({ message_id }) =>
          String(message_id),
        ),
    });
    it.each(checks)("$name", ({ run }) => run());
  });

  it("writes a message of every kind, with the fields that are no column in message", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    const properties = {
      plan: "pro",
      big: 12345678901234567890n.toString(),
      text: "a\u0000b \ud800 \\u0000 😀",
    };
    await deliver(
      open,
      message("m1", { anonymousId: "a1", properties, context: { ip: "203.0.113.1" } }),
      message("m2", { type: "page", event: undefined, name: "Home", userId: undefined, anonymousId: "a1" }),
      message("m3", { type: "group", event: undefined, groupId: "g1", traits: { size: 3 } }),
      message("m4", {
        type: "alias",
        event: undefined,
        userId: undefined,
        "Previous ID": "a1",
        "User ID": "u1",
      }),
    );
    expect(await server.query(`select * from ${settings.table} order by message_id`)).toMatchObject([
      {
        message_id: "m1",
        source_id: "src_1",
        type: "track",
        event: "Ordered",
        user_id: "u1",
        anonymous_id: "a1",
        timestamp: new Date("2026-01-02T03:04:05.678Z"),
        received_at: new Date(1_767_323_046_000),
        position: "7",
        message: {
          properties: { plan: "pro", text: "a\ufffdb \ufffd \\u0000 😀" },
          context: { ip: "203.0.113.1" },
        },
      },
      { message_id: "m2", name: "Home", user_id: null, anonymous_id: "a1" },
      { message_id: "m3", group_id: "g1", message: { traits: { size: 3 } } },
      { message_id: "m4", user_id: "u1", previous_id: "a1", message: {} },
    ]);
  });

  it("lets only the row fail that the server refuses", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    await deliver(open, message("m0"));
    await server.query(`alter table ${settings.table} add constraint good check (event <> 'Bad')`);
    const ids = Array.from({ length: 9 }, (_, index) =>
      message(`m${index}`, index === 5 ? { event: "Bad" } : {}),
    );
    const result = await deliver(open, ...ids);
    expect(result).toMatchObject({
      kind: "delivered",
      others: [
        { index: 5, result: { kind: "failed", reason: "23514", detail: expect.stringContaining("good") } },
      ],
    });
    expect(await countOf(settings)).toBe(8);
  });

  it("writes a batch of several parts at once or not at all, but for rows that are refused", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    await deliver(open, message("m0"));
    await server.query(`alter table ${settings.table} add constraint good check (event <> 'Bad')`);
    const many = (bad: number) =>
      Array.from({ length: 4_500 }, (_, at) => message(`m${at}`, at === bad ? { event: "Bad" } : {}));
    const result = await deliver(open, ...many(3_000));
    expect(result.others?.map(({ index }) => index)).toEqual([3_000]);
    expect(await countOf(settings)).toBe(4_499);
    // What others see while it is written: all of it, or nothing.
    const again = settingsOf({ table: settings.table, port: server.port });
    await server.query(`delete from ${settings.table}`);
    const controller = new AbortController();
    const cut = open.deliverBatch(
      { range: { from: 0, to: 0 }, id: "0", messages: many(-1) },
      attempt(controller.signal),
    );
    controller.abort();
    await cut;
    await expect
      .poll(() => server.query("select 1 from pg_stat_activity where application_name = 'sluice'"))
      .toEqual([]);
    expect([0, 4_500]).toContain(await countOf(settings));
    expect(await deliver(await opened(again), ...many(-1))).toMatchObject({ kind: "delivered" });
    expect(await countOf(settings)).toBe(4_500);
  });

  const canMount = process.getuid?.() === 0 && spawnSync("mount", ["--version"]).status === 0;
  it.skipIf(!canMount)("says that the disk is full, and goes on when there is room", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-small-disk-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m,uid=65534,gid=65534", "tmpfs", folder]);
    onTestFinished(() => {
      spawnSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true, force: true });
    });
    // A container may not allow it.
    if (mounted.status !== 0) return;
    await server.query(`create tablespace small location '${folder}'`);
    await server.query("create role filler login superuser password 'full horse'");
    await server.query("alter role filler set default_tablespace = 'small'");
    const settings = settingsOf({ user: "filler", password: "full horse" });
    const open = await opened(settings);
    const note = () => ({ properties: { note: randomBytes(400).toString("hex") } });
    const messages = Array.from({ length: 3_000 }, (_, at) => message(`m${at}`, note()));
    expect(await deliver(open, ...messages)).toMatchObject({
      kind: "retry",
      reason: "53100",
      detail: expect.stringContaining("The disk of 127.0.0.1 is full"),
    });
    spawnSync("mount", ["-o", "remount,size=64m", folder]);
    expect(await deliver(open, ...messages)).toMatchObject({ kind: "delivered" });
    expect(await countOf(settings)).toBe(3_000);
    await server.query(`drop table ${settings.table}`);
    await server.query("drop tablespace small");
  });

  it("has views of a tracking plan, which values of other types do not break", async () => {
    // Of packages that this one does not depend on.
    const from = (path: string) =>
      import(/* @vite-ignore */ join(import.meta.dirname, "../../..", "packages", path));
    const { planViews } = await from("cli/src/commands/plans/plan-views.ts");
    const { readPlan } = await from("protocol/src/index.ts");
    const properties = {
      total: { type: "number" },
      Paid: { type: ["boolean", "null"] },
      at: { type: "string", format: "date-time" },
      plan: { enum: ["pro", "free"] },
      items: { type: "array" },
      user_id: { $ref: "#/$defs/id" },
    };
    const reading = readPlan({
      track: { "Order Completed": { properties }, 'It\'s "done"': {} },
      page: { Home: { properties: { path: { type: "string" } } } },
      identify: { properties: { age: { type: "integer" } } },
      $defs: { id: { type: "string" } },
    });
    if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.issues));
    const settings = settingsOf();
    const open = await opened(settings);
    const order = (id: string, given: object) => message(id, { event: "Order Completed", properties: given });
    const good = {
      total: 1.5,
      Paid: true,
      at: "2028-02-29T10:00:00.5Z",
      plan: "pro",
      items: [1],
      user_id: "x",
    };
    await deliver(
      open,
      order("m1", good),
      order("m2", { total: "much", Paid: 1, at: "2026-02-30T10:00:00Z", plan: 7 }),
      message("m3", { event: 'It\'s "done"' }),
      message("m4", { type: "page", event: undefined, name: "Home", properties: { path: "/" } }),
      message("m5", { type: "identify", event: undefined, traits: { age: 41 } }),
    );
    const sql = planViews(reading.plan, {
      table: `public.${settings.table}`,
      schema: "public",
      head: "A plan",
    });
    // And again, when the plan has changed.
    for (const _ of [1, 2]) await server.query(sql);
    expect(await server.query("select * from order_completed order by message_id")).toMatchObject([
      {
        message_id: "m1",
        user_id: "u1",
        total: "1.5",
        paid: true,
        at: new Date("2028-02-29T10:00:00.500Z"),
        plan: "pro",
        items: [1],
        user_id_2: "x",
      },
      { message_id: "m2", total: null, paid: null, at: null, plan: "7", items: null, user_id_2: null },
    ]);
    expect(await server.query("select message_id from it_s_done")).toEqual([{ message_id: "m3" }]);
    expect(await server.query("select path from page_home")).toEqual([{ path: "/" }]);
    expect(await server.query("select age from identify")).toEqual([{ age: "41" }]);
  });

  it("erases a user, and the devices that nobody else used with an account", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    const of = (id: string, userId: string | undefined, anonymousId?: string) =>
      message(id, { userId, anonymousId });
    const joined = message("m5", { type: "alias", userId: undefined, "Previous ID": "a3", "User ID": "u1" });
    await deliver(
      open,
      ...[of("m1", "u1", "a1"), of("m2", undefined, "a1"), of("m3", "u2", "a2"), of("m4", undefined, "a2")],
      ...[joined, of("m6", undefined, "a3"), of("m7", "a3", "a1")],
      // Clients send an empty user id for a visitor.
      ...[of("m8", "", "a1"), of("m9", "", "a2")],
    );
    expect(await open.erase?.({ userId: "u1" }, attempt())).toMatchObject({
      kind: "delivered",
      reason: "erased",
    });
    const left = await server.query(`select message_id from ${settings.table} order by 1`);
    expect(left.map(({ message_id }) => message_id)).toEqual(["m3", "m4", "m7", "m9"]);
    expect(await open.erase?.({ anonymousId: "a2" }, attempt())).toMatchObject({ reason: "erased" });
    expect(await countOf(settings)).toBe(2);
  });

  it("adds nothing if a batch is cut while the server works on it, and comes again", async () => {
    const settings = settingsOf();
    const open = await opened(settings);
    await deliver(open, message("m0"));
    await server.query(`create function slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return new; end $$`);
    await server.query(
      `create trigger slow before insert on ${settings.table} for each row execute function slow()`,
    );
    const controller = new AbortController();
    const cut = open.deliverBatch(
      { range: { from: 0, to: 0 }, id: "0", messages: [message("m1")] },
      attempt(controller.signal),
    );
    await expect
      .poll(() =>
        server.query("select 1 from pg_stat_activity where state = 'active' and query like 'insert%'"),
      )
      .toHaveLength(1);
    controller.abort();
    expect(await cut).toMatchObject({ kind: "retry" });
    expect(await deliver(open, message("m1"))).toMatchObject({ kind: "delivered" });
    expect(await countOf(settings)).toBe(2);
  });

  it.each<[string, object, RegExp]>([
    ["a wrong password", { password: "wrong password" }, /refused the user postgres/],
    ["no server", { port: 1 }, /Nothing listens at 127\.0\.0\.1:1\. Start the server/],
    ["no database", { database: "nowhere" }, /There is no database nowhere/],
    ["no schema", { schema: "nowhere" }, /There is no schema nowhere/],
    ["an unknown certificate", { security: "tls" }, /certificate of 127\.0\.0\.1:\d+ is not trusted/],
  ])("says what to do: %s", async (_name, change, expected) => {
    const result = await deliver(await opened(settingsOf(change)), message("m1"));
    expect(result).toMatchObject({ kind: "retry", detail: expect.stringMatching(expected) });
    expect(JSON.stringify(result)).not.toContain("wrong password");
  });

  it("says what to do if permissions are lost or the table changes, and goes on when that is repaired", async () => {
    await server.query("create role writer login password 'another horse'");
    const settings = settingsOf({ user: "writer", password: "another horse" });
    const name = settings.table;
    await deliver(await opened({ ...settings, user: "postgres", password: PASSWORD }), message("m1"));
    const open = await opened(settings);
    expect(await deliver(open, message("m2"))).toMatchObject({ reason: "42501", detail: /Grant it usage/ });
    await server.query(`grant select, insert, delete on ${name} to writer`);
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "delivered" });
    await server.query(`alter table ${name} rename column event to what`);
    expect(await deliver(open, message("m3"))).toMatchObject({
      reason: "42703",
      detail: /not as it was created/,
    });
    await server.query(`alter table ${name} rename column what to event`);
    expect(await deliver(open, message("m3"))).toMatchObject({ kind: "delivered" });
    await server.query(`drop table ${name}; grant create on schema public to writer`);
    expect(await deliver(open, message("m4"))).toMatchObject({ kind: "retry", reason: "42P01" });
    expect(await deliver(open, message("m4"))).toMatchObject({ kind: "delivered" });
  });

  it("is encrypted, with a certificate authority of one's own", async () => {
    const settings = settingsOf({ security: "tls", ca: CA });
    const { collector, id } = await collectorWith(settings);
    expect(await collector.api("POST", `/destinations/${id}/test`, {})).toMatchObject({
      state: "delivered",
    });
    expect(await countOf(settings)).toBe(1);
    expect(
      await server.query("select ssl from pg_stat_ssl join pg_stat_activity using (pid) where ssl"),
    ).toBeDefined();
  });

  it("takes messages of a started collector once each while it is killed under load", async () => {
    const settings = settingsOf();
    await using collector = await startedCollector("@sluice/destination-postgres");
    const connection = await collector.connect("postgres", settings);
    const sent = await killUnderLoad(connection, server, () => countOf(settings).catch(() => 0));
    expect(await countOf(settings, "distinct message_id")).toBe(sent);
    expect(collector.said()).not.toMatch(new RegExp(`Warning|${PASSWORD}`));
  }, 240_000);

  it("adds nothing after collector and server were killed before the answer, whatever was changed", async () => {
    const settings = settingsOf();
    const { before, after } = await killBeforeAnswer(
      postgres,
      (port) => ({ ...settings, port }),
      { ...server, statement: "insert into" },
      () => server.query(`select * from ${settings.table} order by position`).catch(() => []),
    );
    expect(after).toEqual(before);
  }, 120_000);
});
