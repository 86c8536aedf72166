import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect as connectPlain } from "node:net";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { startTestCollector, type TestCollector } from "@sluice/collector/testing";
import type { DeliversBatches, OutgoingMessage } from "@sluice/destination";
import { contractOf } from "@sluice/destination/contract";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore the built collector is started for tests of several packages
import { killUnderLoad, startedCollector } from "../../../test/destinations/started-collector.ts";
import s3 from "../src/index.js";
import { type Fault, faultyProxy, freePort, IS_INSTALLED, type S3Server, s3Server } from "./s3-server.js";

if (!IS_INSTALLED && process.env.CI === undefined)
  console.warn("skipped: tests with S3 need a server: npm run versitygw:install");

/** The messages of an object of JSON lines. */
const idsIn = (lines: Buffer): string[] =>
  lines
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => String(JSON.parse(line).messageId));

describe.skipIf(!IS_INSTALLED && process.env.CI === undefined)("on a real server", () => {
  let server: S3Server;
  let buckets = 0;
  beforeAll(async () => {
    server = await s3Server();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  async function settingsOf(change: object = {}) {
    const bucket = `bucket-${++buckets}`;
    await server.createBucket(bucket);
    return {
      ...{ bucket, region: "us-east-1", endpoint: server.endpoint, prefix: "sluice" },
      ...{ format: "jsonl", compression: "gzip", credentials: "settings", maxAgeSeconds: 1 },
      ...server.keys,
      ...change,
    };
  }

  async function opened(settings: object): Promise<DeliversBatches> {
    const open = (await s3.definition.open(settings as never, {
      connect: ({ host, port }) =>
        new Promise((resolve, reject) => {
          const socket = connectPlain({ host, port });
          socket.once("connect", () => resolve(socket));
          socket.once("error", reject);
        }),
      now: () => 0,
      log() {},
    })) as DeliversBatches;
    onTestFinished(() => open.close?.());
    return open;
  }

  const attempt = (signal = new AbortController().signal) => ({ number: 1, isLast: false, signal });
  const message = (position: number, change: Partial<OutgoingMessage> = {}): OutgoingMessage => {
    const id = `m${position}`;
    const timestamp = "2026-01-02T03:04:05.678Z";
    const payload = {
      version: 1,
      type: "track",
      event: "Ordered",
      userId: "u1",
      messageId: id,
      properties: { a: 1 },
    };
    const receivedAtMs = Date.parse(timestamp);
    return { id, sourceId: "src_1", timestamp, position, receivedAtMs, payload, ...change };
  };
  const deliver = (open: DeliversBatches, ...messages: readonly OutgoingMessage[]) =>
    open.deliverBatch(
      { range: { from: 1, to: 4 }, id: "0000000000000001-0000000000000004", messages },
      attempt(),
    );

  const arrivedIn = (bucket: string): string[] =>
    [...server.objects(bucket).values()].flatMap((body) => idsIn(gunzipSync(body)));

  describe("the contract", () => {
    let bucket: string;
    const checks = contractOf({
      destination: s3,
      settings: async () => {
        const settings = await settingsOf();
        bucket = settings.bucket;
        return settings;
      },
      unreachable: async () => settingsOf({ endpoint: `http://127.0.0.1:${await freePort()}` }),
      arrived: async () => arrivedIn(bucket),
    });
    it.each(checks)("$name", ({ run }) => run());
  });

  it("writes a file for each source and hour, named by the batch", async () => {
    const settings = await settingsOf();
    const later = Date.parse("2026-01-02T04:00:00.000Z");
    await deliver(
      await opened(settings),
      ...[message(1), message(2, { sourceId: "src_2" }), message(3), message(4, { receivedAtMs: later })],
    );
    const objects = [...server.objects(settings.bucket)];
    expect(objects.map(([key, body]) => [key, idsIn(gunzipSync(body))])).toEqual([
      [
        "sluice/date=2026-01-02/hour=03/source=src_1/0000000000000001-0000000000000004.jsonl.gz",
        ["m1", "m3"],
      ],
      ["sluice/date=2026-01-02/hour=03/source=src_2/0000000000000001-0000000000000004.jsonl.gz", ["m2"]],
      ["sluice/date=2026-01-02/hour=04/source=src_1/0000000000000001-0000000000000004.jsonl.gz", ["m4"]],
    ]);
  });

  it("compresses with zstd, or not at all", async () => {
    for (const [compression, open] of [
      ["zstd", zstdDecompressSync],
      ["none", (body: Buffer) => body],
    ] as const) {
      const settings = await settingsOf({ compression });
      await deliver(await opened(settings), message(1));
      const [body = Buffer.alloc(0)] = server.objects(settings.bucket).values();
      expect(idsIn(open(body))).toEqual(["m1"]);
    }
  });

  it("writes Parquet with typed columns", async () => {
    const settings = await settingsOf({ format: "parquet" });
    await deliver(await opened(settings), message(1), message(2));
    const [[key, body] = ["", Buffer.alloc(0)]] = server.objects(settings.bucket);
    expect(key).toMatch(/4\.parquet$/);
    const file = new Uint8Array(body).buffer;
    expect(await parquetReadObjects({ file })).toMatchObject([
      {
        message_id: "m1",
        event: "Ordered",
        user_id: "u1",
        position: 1n,
        timestamp: new Date("2026-01-02T03:04:05.678Z"),
        message: { properties: { a: 1 } },
      },
      { message_id: "m2" },
    ]);
  });

  it.each<[string, () => object, string, RegExp]>([
    [
      "a wrong secret",
      () => ({ secretAccessKey: "a-secret-that-is-wrong" }),
      "SignatureDoesNotMatch",
      /refused the credentials/,
    ],
    ["a wrong key id", () => ({ accessKeyId: "AKIAWRONG" }), "InvalidAccessKeyId", /refused the credentials/],
    ["no permission", () => server.powerless, "AccessDenied", /need s3:PutObject/],
    [
      "no server",
      () => ({ endpoint: "http://127.0.0.1:1" }),
      "ECONNREFUSED",
      /Nothing listens at 127\.0\.0\.1:1\./,
    ],
    ["no bucket", () => ({ bucket: "not-there" }), "NoSuchBucket", /There is no bucket not-there/],
  ])("says what to do: %s", async (_name, change, reason, expected) => {
    const result = await deliver(await opened(await settingsOf(change())), message(1));
    expect(result).toMatchObject({ kind: "retry", reason, detail: expect.stringMatching(expected) });
    expect(JSON.stringify(result)).not.toContain("a-secret-that-is-wrong");
  });

  it("takes credentials from the environment, or of the machine's role", async () => {
    const { accessKeyId, secretAccessKey } = server.keys;
    const none = { accessKeyId: undefined, secretAccessKey: undefined };
    const metadata = createServer((request, response) => {
      const answers: { readonly [path: string]: string } = {
        "/latest/api/token": "token",
        "/latest/meta-data/iam/security-credentials/": "role\n",
        "/latest/meta-data/iam/security-credentials/role": JSON.stringify({
          AccessKeyId: accessKeyId,
          SecretAccessKey: secretAccessKey,
          Expiration: "2030-01-01T00:00:00Z",
        }),
      };
      const isAllowed = request.method === "PUT" || request.headers["x-aws-ec2-metadata-token"] === "token";
      response.writeHead(isAllowed ? 200 : 401).end(answers[request.url ?? ""]);
    });
    metadata.listen(await freePort(), "127.0.0.1");
    onTestFinished(() => void metadata.close());
    await new Promise((resolve) => metadata.once("listening", resolve));
    const before = { ...process.env };
    onTestFinished(() => {
      process.env = before;
    });
    process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}`;
    const ofMachine = await settingsOf({ ...none, credentials: "instance" });
    expect(await deliver(await opened(ofMachine), message(1))).toMatchObject({ kind: "delivered" });
    metadata.closeAllConnections();
    const fromEnvironment = await opened(await settingsOf({ ...none, credentials: "environment" }));
    expect(await deliver(fromEnvironment, message(1))).toMatchObject({ reason: "no_credentials" });
    process.env.AWS_ACCESS_KEY_ID = accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = secretAccessKey;
    expect(await deliver(fromEnvironment, message(1))).toMatchObject({ kind: "delivered" });
  });

  it("ends an upload whose time is over, and repeats it", async () => {
    const settings = await settingsOf();
    const open = await opened(settings);
    server.pause();
    const controller = new AbortController();
    const cut = open.deliverBatch(
      { range: { from: 1, to: 4 }, id: "0000000000000001-0000000000000004", messages: [message(1)] },
      attempt(controller.signal),
    );
    controller.abort();
    expect(await cut).toMatchObject({ kind: "retry" });
    server.resume();
    expect(await deliver(open, message(1))).toMatchObject({ kind: "delivered" });
    expect(arrivedIn(settings.bucket)).toEqual(["m1"]);
  });

  async function collectorWith(settings: object): Promise<TestCollector> {
    const collector = await startTestCollector({ destinations: [s3], allowTargets: ["127.0.0.0/8"] });
    onTestFinished(() => collector.close());
    await collector.api("POST", "/destinations", { type: "s3", sourceIds: [collector.sourceId], settings });
    return collector;
  }

  it("loses nothing and doubles nothing while connections are cut, answers are lost, refused and late, and the bucket is gone", async () => {
    const slowDown: Fault = (response) =>
      response
        .writeHead(503, { "retry-after": "1" })
        .end("<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>");
    const cut: Fault = (response) => response.destroy();
    const faults: Fault[] = ["pass", "lose_answer", cut, slowDown, "pass", "lose_answer", cut, "pass"];
    let requests = 0;
    const proxy = await faultyProxy(server.endpoint, () => faults[requests++ % faults.length] ?? "pass");
    onTestFinished(() => proxy.close());
    const settings = await settingsOf({ endpoint: proxy.endpoint });
    const collector = await collectorWith(settings);
    const ids: string[] = [];
    let sent = 0;
    const burst = async (): Promise<void> => {
      const messages = Array.from({ length: 50 }, () => {
        const messageId = `m${sent++}`;
        ids.push(messageId);
        return { type: "track", event: "Ordered", userId: "u1", messageId };
      });
      await collector.send(...messages);
      await collector.advance(1_000);
    };
    const allArrived = () =>
      expect
        .poll(
          async () => {
            await collector.advance(2_000);
            return arrivedIn(settings.bucket).sort();
          },
          { interval: 50 },
        )
        .toEqual([...ids].sort());
    for (let bursts = 0; bursts < 4; bursts++) {
      await burst();
      await allArrived();
    }
    expect(requests).toBeGreaterThan(6);
    // What was in it is gone with it, and only what comes afterwards is in the new one.
    server.removeBucket(settings.bucket);
    ids.length = 0;
    await burst();
    await collector.advance(20_000);
    await server.createBucket(settings.bucket);
    await burst();
    await expect
      .poll(
        async () => {
          await collector.advance(10_000);
          return new Set(arrivedIn(settings.bucket)).size;
        },
        { interval: 300 },
      )
      .toBe(ids.length);
  });

  it("takes messages of a started collector once each while it is killed under load", async () => {
    const settings = await settingsOf();
    await using collector = await startedCollector("@sluice/destination-s3");
    const connection = await collector.connect("s3", settings);
    const arrived = () => arrivedIn(settings.bucket);
    const sent = await killUnderLoad(connection, server, async () => new Set(arrived()).size);
    expect(arrived()).toHaveLength(sent);
    expect(collector.said()).not.toMatch(new RegExp(`Warning|${server.keys.secretAccessKey}`));
  }, 240_000);

  it("writes the same files after the collector was killed before the answer, whatever was changed", async () => {
    let answers: Fault = "hold_answer";
    const proxy = await faultyProxy(server.endpoint, () => answers);
    onTestFinished(() => proxy.close());
    const settings = await settingsOf({ endpoint: proxy.endpoint });
    const { bucket } = settings;
    await using collector = await startedCollector("@sluice/destination-s3");
    const { destinationId, send } = await collector.connect("s3", settings);
    const written = async (): Promise<ReadonlyMap<string, Buffer>> => {
      await expect.poll(() => server.objects(bucket), { timeout: 20_000 }).not.toHaveProperty("size", 0);
      return server.objects(bucket);
    };
    const killAndStart = async (): Promise<void> => {
      await collector.kill();
      server.removeBucket(bucket);
      await server.createBucket(bucket);
      answers = "pass";
      await collector.start();
    };
    await send("m0", "m1", "m2");
    const before = await written();
    const filters = [{ action: { kind: "remove", paths: ["properties.colour"] } }];
    const moved = { filters, settings: { ...settings, prefix: "other", compression: "none" } };
    await collector.api("PATCH", `/destinations/${destinationId}`, moved);
    await send("m3");
    await killAndStart();
    await collector.outcome("m3", "delivered");
    const after = server.objects(bucket);
    for (const [key, body] of before) expect(after.get(key)?.equals(body)).toBe(true);
    const [other = ""] = [...after.keys()].filter((key) => !before.has(key));
    expect(other).toMatch(/^other\//);
    expect(after.get(other)?.toString()).not.toContain("colour");

    // A deletion erases messages of a file that is being written: the repetition leaves them out.
    server.removeBucket(bucket);
    await server.createBucket(bucket);
    answers = "hold_answer";
    await send("m4", "m5");
    const [[key] = [""]] = await written();
    const { id } = await collector.api("POST", "/deletions", { userIds: ["u4"] });
    const status = () => collector.api("GET", `/deletions/${id}`);
    await expect.poll(status, { timeout: 20_000 }).toMatchObject({ status: "finished" });
    await killAndStart();
    await collector.outcome("m5", "delivered");
    const left = server.objects(bucket);
    expect([...left.keys()]).toEqual([key]);
    expect(idsIn(left.get(key) ?? Buffer.alloc(0))).toEqual(["m5"]);
  }, 120_000);
});

it.each<[object, string]>([
  [{ bucket: "No" }, "settings.bucket"],
  [{ endpoint: "ftp://x" }, "settings.endpoint"],
  [{ prefix: "/a" }, "settings.prefix"],
  [{ secretAccessKey: null }, "settings.secretAccessKey"],
  [{ credentials: "instance" }, "settings.credentials"],
])("refuses %j", async (change, path) => {
  const collector = await startTestCollector({ destinations: [s3] });
  onTestFinished(() => collector.close());
  const settings = { bucket: "events", accessKeyId: "AKIA1", secretAccessKey: "hunter2", ...change };
  const body = { type: "s3", sourceIds: [collector.sourceId], settings };
  await expect(collector.api("POST", "/destinations", body)).rejects.toThrow(`"path":"${path}"`);
});
