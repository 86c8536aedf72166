import { readFileSync } from "node:fs";
import { join } from "node:path";
import { credsAuthenticator } from "@nats-io/transport-node";
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
  TRACE_ID,
} from "../../../test/destinations/started-collector.ts";
// @boundaries-ignore the servers are for tests of all packages
import { freePorts } from "../../../test/nats/nats-cluster.ts";
// @boundaries-ignore its keys are those of the cluster's tests
import { operatorFiles } from "../../event-log/test/jetstream/credentials.ts";
import nats from "../src/index.js";
import { type JetStreamServer, jetStreamServer, MISSING, PASSWORD } from "./jetstream-server.js";

const isSkipped = MISSING !== undefined && process.env.CI === undefined;
if (isSkipped) console.warn(`skipped: ${MISSING}`);

const CA = readFileSync(
  join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures/ca.pem"),
  "utf8",
);

describe.skipIf(isSkipped)("on a real server", () => {
  let server: JetStreamServer;
  let streams = 0;
  beforeAll(async () => {
    server = await jetStreamServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  async function streamOf(config?: object): Promise<string> {
    const name = `s${++streams}`;
    await server.createStream(name, name, config);
    return name;
  }
  const settingsFor = (prefix: string, change: object = {}) => ({
    ...{ servers: server.address, prefix, security: "none" },
    ...{ signIn: "user", user: "sluice", password: PASSWORD, maxAgeSeconds: 1 },
    ...change,
  });

  const collectorWith = (settings: object, allowTargets: readonly string[] = ["127.0.0.0/8"]) =>
    connected(startTestCollector({ destinations: [nats], allowTargets }), nats, settings);
  const opened = (settings: object) => openedFor(nats, settings);
  const idsIn = async (stream: string): Promise<readonly unknown[]> =>
    (await server.read(stream)).map(({ payload }) => payload.messageId);

  describe("the contract", () => {
    let stream: string;
    const checks = contractOf({
      destination: nats,
      settings: async () => {
        stream = await streamOf();
        return settingsFor(stream);
      },
      unreachable: async () => settingsFor("x", { servers: `127.0.0.1:${(await freePorts(1))[0]}` }),
      arrived: async () => (await idsIn(stream)).map(String),
    });
    it.each(checks)("$name", ({ run }) => run());
  });

  it("stores messages in order, by source and type, with what they are in headers", async () => {
    const stream = await streamOf();
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
    const open = await opened(settingsFor(stream));
    await deliver(
      open,
      { ...message("m1", { properties: { text: "ä😀" } }), trace },
      { ...message("m1"), sourceId: "src_2" },
      message("m2", { type: "delete", event: undefined }),
    );
    expect(await server.read(stream)).toEqual([
      {
        subject: `${stream}.src_1.track`,
        payload: expect.objectContaining({ messageId: "m1", properties: { text: "ä😀" } }),
        headers: {
          "Nats-Msg-Id": "src_1/m1",
          "message-id": "m1",
          "source-id": "src_1",
          type: "track",
          ...trace,
        },
      },
      expect.objectContaining({ subject: `${stream}.src_2.track` }),
      expect.objectContaining({ subject: `${stream}.src_1.delete` }),
    ]);
    const many = Array.from({ length: 1_200 }, (_, index) => message(`n${index}`));
    expect(await deliver(open, ...many)).toMatchObject({ kind: "delivered", others: [] });
    expect((await idsIn(stream)).slice(3)).toEqual(many.map(({ id }) => id));
  });

  it("lets only the message fail that is too large for the stream or the server", async () => {
    const stream = await streamOf({ max_msg_size: 3_000 });
    const big = (id: string, bytes: number) => message(id, { properties: { text: "x".repeat(bytes) } });
    const result = await deliver(
      await opened(settingsFor(stream)),
      ...[message("m0"), big("m1", 4_000), big("m2", 2_000_000), message("m3")],
    );
    const failed = { kind: "failed", reason: "too_large" };
    expect(result).toMatchObject({
      kind: "delivered",
      others: [
        { index: 1, result: failed },
        { index: 2, result: failed },
      ],
    });
    expect(await idsIn(stream)).toEqual(["m0", "m3"]);
  });

  it.each<[string, () => object, string, RegExp]>([
    ["no stream", () => ({ prefix: "nowhere" }), "NoResponders", /No stream takes the subject nowhere\.>/],
    ["no server", () => ({ servers: "127.0.0.1:1" }), "ECONNREFUSED", /Nothing listens at 127\.0\.0\.1:1\./],
    ["a wrong password", () => ({ password: "wrong password" }), "AuthorizationError", /refused the sign-in/],
    ["no permission", () => ({ user: "weak" }), "PermissionViolationError", /Allow it to publish to s\d+\.>/],
    [
      "an unknown certificate",
      () => ({ security: "tls" }),
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      /Set its certificate authority/,
    ],
  ])("says what to do: %s", async (_name, change, reason, expected) => {
    const result = await deliver(await opened(settingsFor(await streamOf(), change())), message("m1"));
    expect(result).toMatchObject({ kind: "retry", reason, detail: expect.stringMatching(expected) });
    expect(JSON.stringify(result)).not.toContain("wrong password");
  });

  it("tries again while the stream is full or missing, and goes on when that is repaired", async () => {
    const stream = await streamOf({ max_msgs: 1, discard: "new" });
    const open = await opened(settingsFor(stream));
    await deliver(open, message("m1"));
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "retry", detail: /stream is full/ });
    await server.deleteStream(stream);
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "retry", reason: "NoResponders" });
    await server.createStream(stream, stream);
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "delivered" });
    expect(await idsIn(stream)).toEqual(["m2"]);
  });

  it("ends with its signal while the server does not answer, and adds nothing twice", async () => {
    const stream = await streamOf();
    const open = await opened(settingsFor(stream));
    await deliver(open, message("m0"));
    server.signal("SIGSTOP");
    const controller = new AbortController();
    const cut = open.deliverBatch(
      { range: { from: 0, to: 0 }, id: "0", messages: [message("m1")] },
      attempt(controller.signal),
    );
    controller.abort();
    expect(await cut).toMatchObject({ kind: "retry" });
    server.signal("SIGCONT");
    expect(await deliver(open, message("m1"))).toMatchObject({ kind: "delivered" });
    expect(await idsIn(stream)).toEqual(["m0", "m1"]);
  });

  it.each(["token", "creds"])("signs in with %s", async (signIn) => {
    const { configuration, creds } = operatorFiles();
    const access =
      signIn === "token"
        ? { lines: 'authorization { token: "correct horse" }', options: { token: PASSWORD } }
        : {
            lines: configuration,
            options: { authenticator: credsAuthenticator(new TextEncoder().encode(creds)) },
          };
    await using other = await jetStreamServer(access);
    await other.createStream("events", "sluice");
    const secret = signIn === "token" ? { token: PASSWORD } : { creds };
    const settings = { servers: other.address, prefix: "sluice", security: "tls", ca: CA, signIn, ...secret };
    expect(await deliver(await opened(settings), message("m1"))).toMatchObject({ kind: "delivered" });
    expect(await other.read("events")).toHaveLength(1);
  });

  it("connects encrypted, and only where the collector allows it", async () => {
    const stream = await streamOf();
    const settings = settingsFor(stream, { security: "tls", ca: CA });
    const allowed = await collectorWith(settings);
    const sent = await allowed.collector.api("POST", `/destinations/${allowed.id}/test`, {});
    expect(sent).toMatchObject({ state: "delivered" });
    expect(JSON.stringify(sent)).toContain(`${stream}, sequence 1`);
    expect(await idsIn(stream)).toHaveLength(1);
    const refused = await collectorWith(settings, []);
    const said = await refused.collector.api("POST", `/destinations/${refused.id}/test`, {});
    expect(JSON.stringify(said)).toContain("Add it to allowTargets");
    expect(await idsIn(stream)).toHaveLength(1);
  });

  it("takes messages of a started collector once each, in order, while it is killed under load", async () => {
    const stream = await streamOf();
    await using collector = await startedCollector("@sluice/destination-nats");
    const connection = await collector.connect("nats", settingsFor(stream));
    const sent = await killUnderLoad(connection, server, async () => new Set(await idsIn(stream)).size);
    const stored = await server.read(stream);
    expect(stored).toHaveLength(sent);
    expect(stored[0]?.headers.traceparent).toContain(TRACE_ID);
    expect(collector.said()).not.toMatch(new RegExp(`Warning|${PASSWORD}`));
  }, 240_000);

  it("adds nothing after collector and server were killed before the answer, whatever was changed", async () => {
    const stream = await streamOf();
    const { before, after } = await killBeforeAnswer(
      nats,
      (port) => settingsFor(stream, { servers: `127.0.0.1:${port}` }),
      { ...server, port: Number(server.address.split(":")[1]), statement: "HPUB" },
      () => server.read(stream),
    );
    expect(after).toEqual(before);
  }, 120_000);
});

it.each<[object, string]>([
  [{ servers: "http://a" }, "settings.servers"],
  [{ prefix: "a.>" }, "settings.prefix"],
  [{ security: "none", ca: CA }, "settings.ca"],
  [{ signIn: "none" }, "settings.token"],
  [{ signIn: "user" }, "settings.password"],
  [{ token: null }, "settings.token"],
])("refuses %j", async (change, path) => {
  const collector = await startTestCollector({ destinations: [nats] });
  onTestFinished(() => collector.close());
  const settings = {
    servers: "nats://a.example, b.example:4222",
    signIn: "token",
    token: "hunter2",
    ...change,
  };
  const body = { type: "nats", sourceIds: [collector.sourceId], settings };
  await expect(collector.api("POST", "/destinations", body)).rejects.toThrow(`"path":"${path}"`);
});

it("has every setting in its README, with its default", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const rows = [...readme.matchAll(/^\| (`[^|]+) \|(.*?)\|/gm)].flatMap(([, names = "", defaults = ""]) => {
    const values = defaults.split(",").map((value) => value.replaceAll("`", "").trim());
    return [...names.matchAll(/`(\w+)`/g)].map(([, name], index) => [name, values[index] ?? ""]);
  });
  const { properties } = nats.definition.settings;
  expect(rows).toEqual(Object.entries(properties).map(([name, one]) => [name, String(one.default ?? "")]));
});
