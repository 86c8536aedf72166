import { readFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { startTestCollector } from "@sluice/collector/testing";
import type { Connect, OutgoingMessage } from "@sluice/destination";
import { contractOf } from "@sluice/destination/contract";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore what the tests of destination packages do alike
import { attempt, connected, deliver, message, openedFor } from "../../../test/destinations/on-a-server.ts";
// @boundaries-ignore the built collector is started for tests of several packages
import {
  DROPS_ALL,
  killUnderLoad,
  startedCollector,
  TRACE_ID,
} from "../../../test/destinations/started-collector.ts";
import kafka from "../src/index.js";
import {
  freePort,
  IS_INSTALLED,
  type KafkaServer,
  kafkaServer,
  PARTITIONS,
  PASSWORD,
} from "./kafka-server.js";

if (!IS_INSTALLED && process.env.CI === undefined)
  console.warn("skipped: tests with Kafka need Java and a broker: npm run kafka:install");

const CA = readFileSync(
  join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures/ca.pem"),
  "utf8",
);

/** What happens to answers of the broker: the next one is lost, with its connection, or all are. */
const faults = { losing: "none" as "none" | "next" | "all" };

/** Connects like the collector, to any address. */
const connectAnywhere: Connect = ({ host, port, tls = false, ca, signal }) =>
  new Promise((resolve, reject) => {
    const socket = tls
      ? connectTls({ host, port, ...(ca === undefined ? {} : { ca }) })
      : connectPlain({ host, port });
    signal?.addEventListener("abort", () => socket.destroy(new Error("aborted")), { once: true });
    socket.once(tls ? "secureConnect" : "connect", () => resolve(socket));
    socket.once("error", reject);
    const emit = socket.emit.bind(socket);
    socket.emit = (event: string, ...values: unknown[]) => {
      if (event !== "data" || faults.losing === "none") return emit(event, ...values);
      if (faults.losing === "next") faults.losing = "none";
      socket.destroy();
      return true;
    };
  });

describe.skipIf(!IS_INSTALLED && process.env.CI === undefined)("on a real broker", () => {
  let server: KafkaServer;
  let topics = 0;
  beforeAll(async () => {
    server = await kafkaServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  async function topicOf(config?: { readonly [name: string]: string }): Promise<string> {
    const topic = `topic-${++topics}`;
    await server.createTopic(topic, config);
    return topic;
  }

  const settingsFor = (topic: string, change: object = {}) => ({
    ...{ brokers: server.brokers.plain, topic, security: "none", mechanism: "none" },
    ...{ compression: "gzip", maxAgeSeconds: 1 },
    ...change,
  });
  const SIGN_IN = { mechanism: "plain", user: "sluice", password: PASSWORD };

  const collectorWith = (settings: object) =>
    connected(startTestCollector({ destinations: [kafka], allowTargets: ["127.0.0.0/8"] }), kafka, settings);
  const opened = (settings: object, connect: Connect = connectAnywhere) =>
    openedFor(kafka, settings, connect);
  const idsIn = async (topic: string): Promise<readonly unknown[]> =>
    (await server.read(topic)).map(({ value }) => value.messageId);

  describe("the contract", () => {
    let topic: string;
    const checks = contractOf({
      destination: kafka,
      settings: async () => {
        topic = await topicOf();
        return settingsFor(topic);
      },
      unreachable: async () => settingsFor("nowhere", { brokers: `127.0.0.1:${await freePort()}` }),
      arrived: async () => (await idsIn(topic)).map(String),
      addsRepeated: true,
    });
    it.each(checks)("$name", ({ run }) => run());
  });

  it("writes records with the user as the key, and what they are in headers", async () => {
    const topic = await topicOf();
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
    await deliver(
      await opened(settingsFor(topic)),
      { ...message("m1", { properties: { text: "ä😀" } }), trace },
      message("m2", { userId: undefined, anonymousId: "a1" }),
      message("m3", { type: "alias", userId: undefined, "Previous ID": "a1", "User ID": "u1" }),
      message("m4", { type: "delete", event: undefined, userId: "u1" }),
      // Clients send an empty user id for a visitor.
      message("m5", { userId: "", anonymousId: "a1" }),
    );
    const records = await server.read(topic);
    const about = (id: string) => records.find(({ headers }) => headers["message-id"] === id);
    expect(about("m1")).toMatchObject({
      key: "u1",
      value: { messageId: "m1", event: "Ordered", userId: "u1", properties: { text: "ä😀" } },
      headers: { "message-id": "m1", "source-id": "src_1", type: "track", ...trace },
      timestamp: 1_767_323_046_000,
    });
    expect(about("m2")).toMatchObject({ key: "a1" });
    expect(about("m2")?.headers).toEqual({ "message-id": "m2", "source-id": "src_1", type: "track" });
    expect(about("m3")).toMatchObject({ key: "u1", headers: { type: "alias" } });
    expect(about("m4")).toMatchObject({ key: "u1", headers: { type: "delete" } });
    expect(about("m5")).toMatchObject({ key: "a1" });
  });

  it.each(["gzip", "none"])(
    "keeps the order of each user in a batch of many requests, with compression %s",
    async (compression) => {
      const topic = await topicOf();
      const messages = Array.from({ length: 3_000 }, (_, index) =>
        message(`m${index}`, { userId: `u${index % 40}`, properties: { text: "x".repeat(1_000) } }),
      );
      const open = await opened(settingsFor(topic, { compression }));
      expect(await deliver(open, ...messages)).toMatchObject({ kind: "delivered", others: [] });
      const records = await server.read(topic);
      expect(records).toHaveLength(3_000);
      expect(new Set(records.map(({ partition }) => partition)).size).toBe(PARTITIONS);
      for (const user of Map.groupBy(records, ({ key }) => key).values()) {
        const numbers = user.map(({ value }) => Number(String(value.messageId).slice(1)));
        expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      }
    },
  );

  it("lets only the message fail that is too large", async () => {
    const topic = await topicOf({ "max.message.bytes": "3000" });
    const messages = Array.from({ length: 40 }, (_, index) =>
      message(`m${index}`, { properties: { text: index === 21 ? "x".repeat(4_000) : "x".repeat(200) } }),
    );
    const open = await opened(settingsFor(topic, { compression: "none" }));
    expect(await deliver(open, ...messages)).toMatchObject({
      kind: "delivered",
      others: [
        {
          index: 21,
          result: { kind: "failed", reason: "MESSAGE_TOO_LARGE", detail: /Raise max\.message\.bytes/ },
        },
      ],
    });
    expect(await idsIn(topic)).toEqual(messages.filter((_, index) => index !== 21).map(({ id }) => id));
  });

  it.each(["plain", "scram-sha-256", "scram-sha-512"])(
    "signs in with %s, encrypted or not",
    async (mechanism) => {
      for (const encryption of [
        { brokers: server.brokers.sasl },
        { brokers: server.brokers.sasltls, security: "tls", ca: CA },
      ]) {
        const topic = await topicOf();
        const settings = settingsFor(topic, { ...SIGN_IN, mechanism, ...encryption });
        expect(await deliver(await opened(settings), message("m1"))).toMatchObject({ kind: "delivered" });
        expect(await idsIn(topic)).toEqual(["m1"]);
      }
    },
  );

  it.each<[string, () => object, string, RegExp]>([
    ["no topic", () => ({ topic: "nowhere" }), "UNKNOWN_TOPIC_OR_PARTITION", /no topic nowhere.*Create it/],
    ...["plain", "scram-sha-256"].map((mechanism): [string, () => object, string, RegExp] => [
      `a wrong password (${mechanism})`,
      () => ({ brokers: server.brokers.sasl, ...SIGN_IN, mechanism, password: "wrong password" }),
      "SASL_AUTHENTICATION_FAILED",
      /refused the user sluice/,
    ]),
    [
      "no sign-in",
      () => ({ brokers: server.brokers.sasl }),
      "ECONNRESET",
      /other security or another mechanism/,
    ],
    ["no encryption", () => ({ brokers: server.brokers.tls }), "ECONNRESET", /other security/],
    [
      "an unknown certificate",
      () => ({ brokers: server.brokers.tls, security: "tls" }),
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      /certificate of 127\.0\.0\.1:\d+ is not trusted/,
    ],
    ["no broker", () => ({ brokers: "127.0.0.1:1" }), "ECONNREFUSED", /Nothing listens at 127\.0\.0\.1:1\./],
    ["encryption that the broker does not have", () => ({ security: "tls" }), "ECONNRESET", /other security/],
  ])("says what to do: %s", async (_name, change, reason, expected) => {
    const settings = settingsFor(await topicOf(), change());
    const result = await deliver(await opened(settings), message("m1"));
    expect(result).toMatchObject({ kind: "retry", reason, detail: expect.stringMatching(expected) });
    expect(JSON.stringify(result)).not.toContain("wrong password");
  });

  it("says what to do if the permission or the topic is missing, and goes on when that is repaired", async () => {
    const topic = await topicOf();
    const acl = {
      ...{ resourceType: 2, resourceName: topic, resourcePatternType: 3 },
      ...{ principal: "User:somebody", host: "*", operation: 4, permissionType: 3 },
    };
    await server.admin.createAcls({ acl: [acl] });
    const open = await opened(settingsFor(topic, { brokers: server.brokers.sasl, ...SIGN_IN }));
    const result = await deliver(open, message("m1"));
    expect(result).toMatchObject({
      kind: "retry",
      reason: "TOPIC_AUTHORIZATION_FAILED",
      detail: /user sluice may not write to topic-\d+\. Grant Write and Describe/,
    });
    await server.admin.createAcls({ acl: [{ ...acl, principal: "User:sluice" }] });
    await expect.poll(() => deliver(open, message("m1"))).toMatchObject({ kind: "delivered" });
    await server.admin.deleteTopics({ topics: [topic] });
    await expect
      .poll(() => deliver(open, message("m2")))
      .toMatchObject({ kind: "retry", reason: "UNKNOWN_TOPIC_OR_PARTITION" });
    await server.createTopic(topic);
    await expect.poll(() => deliver(open, message("m2"))).toMatchObject({ kind: "delivered" });
    expect(await idsIn(topic)).toEqual(["m2"]);
  });

  it("adds nothing if an answer is lost, and the batch comes again", async () => {
    const topic = await topicOf();
    const open = await opened(settingsFor(topic));
    await deliver(open, message("m0"));
    faults.losing = "next";
    expect(await deliver(open, message("m1"), message("m2"))).toMatchObject({ kind: "delivered" });
    faults.losing = "all";
    const batch = [message("m3"), message("m4")];
    expect(await deliver(open, ...batch)).toMatchObject({ kind: "retry", reason: "ECONNRESET" });
    faults.losing = "none";
    expect(await deliver(open, ...batch)).toMatchObject({ kind: "delivered" });
    expect(await idsIn(topic)).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });

  it("loses nothing if other messages come after a lost answer", async () => {
    const topic = await topicOf();
    const open = await opened(settingsFor(topic));
    await deliver(open, message("m0"));
    faults.losing = "all";
    expect(await deliver(open, message("m1"))).toMatchObject({ kind: "retry" });
    faults.losing = "none";
    expect(await deliver(open, message("m2"))).toMatchObject({ kind: "delivered" });
    expect(await deliver(open, message("m1"))).toMatchObject({ kind: "delivered" });
    // It had been written before.
    expect(await idsIn(topic)).toEqual(["m0", "m1", "m2", "m1"]);
  });

  it("ends with its signal while the broker does not answer, and delivers afterwards", async () => {
    const topic = await topicOf();
    const open = await opened(settingsFor(topic));
    await deliver(open, message("m0"));
    server.pause();
    const controller = new AbortController();
    const cut = open.deliverBatch(
      { range: { from: 0, to: 0 }, id: "0", messages: [message("m1")] },
      attempt(controller.signal),
    );
    controller.abort();
    expect(await cut).toMatchObject({ kind: "retry" });
    server.resume();
    expect(await deliver(open, message("m1"))).toMatchObject({ kind: "delivered" });
    expect(new Set(await idsIn(topic))).toEqual(new Set(["m0", "m1"]));
  });

  it("lets only the messages wait whose broker is gone", { timeout: 300_000 }, async () => {
    await using two = await kafkaServer();
    await using second = await two.join();
    await two.createTopic("events", {}, [[1], [2]]);
    const messages = Array.from({ length: 40 }, (_, index) => message(`m${index}`, { userId: `u${index}` }));
    const open = await opened(settingsFor("events", { brokers: two.brokers.plain }));
    expect(await deliver(open, ...messages)).toMatchObject({ kind: "delivered", others: [] });
    const partitionOf = new Map((await two.read("events")).map(({ key, partition }) => [key, partition]));
    await second.kill();
    const { others = [], ...whole } = await deliver(open, ...messages);
    expect(whole).toMatchObject({ kind: "delivered" });
    const ofSecond = messages.flatMap((_, index) => (partitionOf.get(`u${index}`) === 1 ? [index] : []));
    expect(others.map(({ index }) => index)).toEqual(ofSecond);
    expect(others[0]?.result).toMatchObject({ kind: "retry", isReachable: true });
    await second.start();
    expect(await deliver(open, ...ofSecond.map((index) => messages[index] as OutgoingMessage))).toMatchObject(
      {
        kind: "delivered",
        others: [],
      },
    );
    expect(await two.read("events")).toHaveLength(80);
  });

  it("is encrypted, with a certificate authority of one's own", async () => {
    const topic = await topicOf();
    const brokers = server.brokers.sasltls;
    const settings = settingsFor(topic, { ...SIGN_IN, brokers, security: "tls", ca: CA });
    const { collector, id } = await collectorWith(settings);
    const sent = await collector.api("POST", `/destinations/${id}/test`, {});
    expect(sent).toMatchObject({ state: "delivered" });
    expect(JSON.stringify(sent)).toMatch(new RegExp(`${topic}, partition \\d, offset 0`));
    expect(await idsIn(topic)).toHaveLength(1);
  });

  it("connects to no address that brokers advertise but the collector does not allow", async () => {
    const { collector, id } = await collectorWith(
      settingsFor(await topicOf(), { brokers: server.brokers.hidden }),
    );
    const sent = JSON.stringify(await collector.api("POST", `/destinations/${id}/test`, {}));
    expect(sent).toMatch(/192\.0\.2\.1:9092, which is set or which the brokers name, is not allowed/);
  });

  it("takes messages of a started collector once each while it is killed under load", async () => {
    const topic = await topicOf();
    await using collector = await startedCollector("@sluice/destination-kafka");
    const settings = settingsFor(topic, { brokers: server.brokers.sasl, ...SIGN_IN });
    const connection = await collector.connect("kafka", settings);
    // A broker takes long to start.
    const sent = await killUnderLoad(connection, server, async () => new Set(await idsIn(topic)).size, 2);
    const records = await server.read(topic);
    expect(records[0]?.headers.traceparent).toContain(TRACE_ID);
    // Batches come again as they were, and add nothing.
    expect(records).toHaveLength(sent);
    expect(collector.said()).not.toMatch(new RegExp(`Warning|${PASSWORD}`));
  }, 240_000);

  it("gets the same records after broker and collector were killed before the answer, whatever was changed", async () => {
    const topic = await topicOf();
    await using collector = await startedCollector("@sluice/destination-kafka");
    const settings = settingsFor(topic, { brokers: server.brokers.sasl, ...SIGN_IN });
    const { destinationId, send } = await collector.connect("kafka", settings);
    await send("m0");
    await expect.poll(() => idsIn(topic), { timeout: 20_000 }).toEqual(["m0"]);
    await collector.outcome("m0", "delivered");
    await server.kill();
    await send("m1", "m2", "m3");
    await collector.failing(destinationId);
    await collector.api("PATCH", `/destinations/${destinationId}`, DROPS_ALL);
    await send("m4");
    await collector.kill();
    await server.start();
    await collector.start();
    await collector.outcome("m4", "filtered");
    await collector.outcome("m3", "delivered");
    // Each partition has its own order.
    expect([...new Set(await idsIn(topic))].sort()).toEqual(["m0", "m1", "m2", "m3"]);
  }, 120_000);
});

it.each<[object, string]>([
  [{ brokers: "kafka.example.com" }, "settings.brokers"],
  [{ brokers: "a:9092, b" }, "settings.brokers"],
  [{ topic: "a b" }, "settings.topic"],
  [{ security: "none", ca: CA }, "settings.ca"],
  [{ mechanism: "none" }, "settings.mechanism"],
  [{ user: null }, "settings.user"],
  [{ password: null }, "settings.password"],
])("refuses %j", async (change, path) => {
  const collector = await startTestCollector({ destinations: [kafka] });
  onTestFinished(() => collector.close());
  const signIn = { mechanism: "plain", user: "sluice", password: "hunter2" };
  const settings = { brokers: "a.example:9092, b.example:9092", topic: "events", ...signIn, ...change };
  const body = { type: "kafka", sourceIds: [collector.sourceId], settings };
  await expect(collector.api("POST", "/destinations", body)).rejects.toThrow(`"path":"${path}"`);
});

it("has every setting in its README, with its default", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const rows = [...readme.matchAll(/^\| (`[^|]+) \|(.*?)\|/gm)].flatMap(([, names = "", defaults = ""]) => {
    const values = defaults.split(",").map((value) => value.replaceAll("`", "").trim());
    return [...names.matchAll(/`(\w+)`/g)].map(([, name], index) => [name, values[index] ?? ""]);
  });
  const { properties } = kafka.definition.settings;
  expect(rows).toEqual(Object.entries(properties).map(([name, one]) => [name, String(one.default ?? "")]));
});
