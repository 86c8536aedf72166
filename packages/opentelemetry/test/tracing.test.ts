import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as api from "@opentelemetry/api";
import { createLogger, startCollector } from "@sluice/collector";
import { Analytics } from "@sluice/node";
import { afterEach, expect, test, vi } from "vitest";
// @boundaries-ignore what threads decide by themselves is not part of the collector's interface
import { isInShare } from "../../../apps/collector/src/process/telemetry/tracing.js";
import { startTelemetry, type Telemetry } from "../src/index.js";
import { startReceiver } from "./receiver.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

interface Delivered {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Setup {
  readonly url: string;
  readonly writeKey: string;
  readonly delivered: Delivered[];
  readonly metrics: () => Promise<string>;
}

/** A collector with a webhook that answers with `status`. */
async function setUp(telemetry: Telemetry | undefined, status = 200): Promise<Setup> {
  const delivered: Delivered[] = [];
  const receiver = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    delivered.push({ headers: request.headers, body: JSON.parse(text) });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-otel-"));
  const collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory,
    allowTargets: ["127.0.0.0/8"],
    logger: createLogger({ write: () => {}, also: telemetry?.log }),
    ...(telemetry === undefined ? {} : { tracing: telemetry.tracing }),
  });
  cleanUp.push(
    () => rm(dataDirectory, { recursive: true, force: true }),
    async () => receiver.close(),
    () => collector.close(0),
  );
  const { writeKey = "", sourceId, adminToken } = collector.firstRun ?? {};
  const { port } = receiver.address() as AddressInfo;
  const created = await fetch(`${collector.url}/api/v1/destinations`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}` },
    body: JSON.stringify({
      type: "webhooks",
      sourceIds: [sourceId],
      settings: { webhooks: [{ url: `http://127.0.0.1:${port}/hook?token=s3cret` }] },
      enabled: true,
    }),
  });
  expect(created.status).toBe(201);
  return {
    url: collector.url,
    writeKey,
    delivered,
    metrics: async () => (await fetch(`${collector.url}/metrics`)).text(),
  };
}

async function send({ url, writeKey }: Setup, ...batch: object[]): Promise<void> {
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
    body: JSON.stringify({ batch }),
  });
  expect(response.status).toBe(200);
}

const track = (messageId: string, context?: object): object => ({
  type: "track",
  event: "Ordered",
  userId: "u1",
  messageId,
  ...(context === undefined ? {} : { context }),
});

const json = {
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_BSP_SCHEDULE_DELAY: "20",
  OTEL_BLRP_SCHEDULE_DELAY: "20",
};
const WAIT = { timeout: 60_000, interval: 20 };

test("one trace: the application's span, ingest, attempt, the receiver's span; and settle", async () => {
  await using otlp = await startReceiver();
  // The SDK reads these itself.
  vi.stubEnv("OTEL_SERVICE_NAME", "events");
  vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test");
  cleanUp.push(async () => vi.unstubAllEnvs());
  const telemetry = startTelemetry({
    endpoint: otlp.url,
    version: "1.2.3",
    env: json,
  });
  const setup = await setUp(telemetry);
  const analytics = new Analytics({
    writeKey: setup.writeKey,
    host: setup.url,
    openTelemetry: { context: api.context, propagation: w3c({ tracestate: "vendor=1" }) },
  });
  analytics.track({ userId: "u1", event: "Ordered", messageId: "m1" });
  await analytics.close();
  await vi.waitFor(() => expect(otlp.spans.map(({ name }) => name).sort()).toHaveLength(3), WAIT);

  const named = new Map(otlp.spans.map((span) => [span.name, span]));
  const [ingest, attempt, settle] = ["ingest", "attempt", "settle"].map((name) =>
    named.get(`sluice ${name}`),
  );
  expect(otlp.spans.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE]);
  expect(ingest).toMatchObject({ parentSpanId: SPAN, traceState: "vendor=1" });
  expect(attempt?.parentSpanId).toBe(ingest?.spanId);
  expect(settle?.parentSpanId).toBe(ingest?.spanId);
  const [{ headers, body } = { headers: {}, body: {} }] = setup.delivered;
  expect(headers.traceparent).toBe(`00-${TRACE}-${attempt?.spanId}-01`);
  expect(headers.tracestate).toBe("vendor=1");
  expect(body.context).toMatchObject({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1" });
  expect(attempt?.attributes).toContainEqual({ key: "http.response.status_code", value: { intValue: 200 } });
  expect(settle?.attributes).toContainEqual({ key: "sluice.state", value: { stringValue: "delivered" } });
  expect(JSON.stringify(otlp.spans)).not.toContain("s3cret");
  expect(otlp.resources.join()).toContain('"events"');
  expect(otlp.resources.join()).toContain("deployment.environment");
  await telemetry.close(5_000);
});

test("an attempt that fails has an error, and each retry a span of its own", async () => {
  await using otlp = await startReceiver();
  const telemetry = startTelemetry({ endpoint: otlp.url, version: "1", env: json });
  const setup = await setUp(telemetry, 503);
  await send(setup, track("m1", { traceparent: `00-${TRACE}-${SPAN}-01` }));
  const attempts = () => otlp.spans.filter(({ name }) => name === "sluice attempt");
  await vi.waitFor(() => expect(attempts().length).toBeGreaterThan(1), WAIT);
  expect(new Set(attempts().map(({ spanId }) => spanId)).size).toBe(attempts().length);
  for (const { status } of attempts())
    expect(status).toMatchObject({ code: 2, message: expect.stringMatching(/503/) });
  const settled = otlp.spans.find(({ name }) => name === "sluice settle");
  expect(settled?.attributes).toContainEqual({ key: "sluice.state", value: { stringValue: "pending" } });
  await telemetry.close(5_000);
});

test("without export, a message's trace context is passed on as it came, and hostile ones are not", async () => {
  const setup = await setUp(undefined);
  await send(
    setup,
    track("good", { traceparent: `00-${TRACE}-${SPAN}-00`, tracestate: "a=1" }),
    track("evil", { traceparent: `00-${TRACE}-${SPAN}-01\r\nX-Evil: 1` }),
    track("state", { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1\r\nX-Evil: 1" }),
    track("zeros", { traceparent: `00-${"0".repeat(32)}-${SPAN}-01` }),
    track("list", { traceparent: [`00-${TRACE}-${SPAN}-01`] }),
    track("none"),
  );
  await vi.waitFor(() => expect(setup.delivered).toHaveLength(6), WAIT);
  const headersOf = (id: string) => {
    const headers = setup.delivered.find(({ headers }) => headers["x-message-id"] === id)?.headers;
    return [headers?.traceparent, headers?.tracestate, headers?.["x-evil"]];
  };
  expect(headersOf("good")).toEqual([`00-${TRACE}-${SPAN}-00`, "a=1", undefined]);
  expect(headersOf("state")).toEqual([`00-${TRACE}-${SPAN}-01`, undefined, undefined]);
  for (const id of ["evil", "zeros", "list", "none"])
    expect([id, ...headersOf(id)]).toEqual([id, undefined, undefined, undefined]);
});

test("messages without a trace are traced as OTEL_TRACES_SAMPLER says; unsampled ones never are", async () => {
  await using otlp = await startReceiver();
  const telemetry = startTelemetry({
    endpoint: otlp.url,
    version: "1",
    env: { ...json, OTEL_TRACES_SAMPLER: "always_on" },
  });
  const setup = await setUp(telemetry);
  await send(setup, track("own"), track("unsampled", { traceparent: `00-${TRACE}-${SPAN}-00` }));
  await vi.waitFor(() => expect(otlp.spans).toHaveLength(3), WAIT);
  const [first] = otlp.spans;
  expect(new Set(otlp.spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(first?.traceId).not.toBe(TRACE);
  const ingest = otlp.spans.find(({ name }) => name === "sluice ingest");
  expect(ingest?.parentSpanId ?? "").toBe("");
  const own = setup.delivered.find(({ headers }) => headers["x-message-id"] === "own");
  expect(own?.headers.traceparent).toContain(first?.traceId);
  await telemetry.close(5_000);
});

test.each<[env: Record<string, string>, starts: boolean]>([
  [{}, false],
  [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, false],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, false],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" }, true],
  [{ OTEL_TRACES_SAMPLER: "always_on" }, true],
  [{ OTEL_TRACES_SAMPLER: "always_on", OTEL_TRACES_EXPORTER: "none" }, false],
])("with %j, says whether a message without a trace may get one: %s", async (env, starts) => {
  const telemetry = startTelemetry({ endpoint: "http://127.0.0.1:9", version: "1", env });
  expect(telemetry.tracing.startsTraces).toBe(starts);
  await telemetry.close(0);
});

test("samples as the collector's threads do by themselves", async () => {
  const env = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.3" };
  const { tracing, close } = startTelemetry({ endpoint: "http://127.0.0.1:9", version: "1", env });
  const ids = Array.from({ length: 2_000 }, () => randomBytes(16).toString("hex"));
  expect(ids.map((id) => isInShare(id, tracing.share ?? 0))).toEqual(ids.map((id) => tracing.samples(id)));
  await close(0);
});

test("exports logs, with secrets hidden, and protobuf by default", async () => {
  await using otlp = await startReceiver();
  const telemetry = startTelemetry({ endpoint: otlp.url, version: "1", env: json });
  const logger = createLogger({ write: () => {}, also: telemetry.log });
  logger.warn("it failed", { authorization: "Bearer hunter2", url: "https://u:hunter2@x.example/", n: 1 });
  await telemetry.close(10_000);
  expect(otlp.logs).toHaveLength(1);
  expect(JSON.stringify(otlp.logs)).toContain('"stringValue":"it failed"');
  expect(JSON.stringify(otlp.logs)).not.toContain("hunter2");

  const protobuf = startTelemetry({ endpoint: otlp.url, version: "1", env: {} });
  createLogger({ write: () => {}, also: protobuf.log }).info("ready");
  await protobuf.close(10_000);
  expect([...otlp.contentTypes]).toContain("/v1/logs application/x-protobuf");
});

test("with logs alone, webhooks name the application's span and no span that nobody exports", async () => {
  await using otlp = await startReceiver();
  const env = { ...json, OTEL_TRACES_EXPORTER: "none", OTEL_TRACES_SAMPLER: "always_on" };
  const telemetry = startTelemetry({ endpoint: otlp.url, version: "1", env });
  const setup = await setUp(telemetry);
  await send(
    setup,
    track("given", { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1" }),
    track("own"),
  );
  await vi.waitFor(() => expect(setup.delivered).toHaveLength(2), WAIT);
  const sent = new Map(setup.delivered.map(({ headers }) => [headers["x-message-id"], headers]));
  expect(sent.get("given")).toMatchObject({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1" });
  expect(sent.get("own")).not.toHaveProperty("traceparent");
  expect(await setup.metrics()).toContain('sluice_telemetry_dropped_total{signal="logs"} 0');
  await telemetry.close(5_000);
});

test("while the receiver is down, memory is bounded, losses are counted, and delivery goes on", async () => {
  const telemetry = startTelemetry({
    endpoint: "http://127.0.0.1:9",
    version: "1",
    env: { ...json, OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_EXPORT_TIMEOUT: "200" },
  });
  const setup = await setUp(telemetry);
  const context = { traceparent: `00-${TRACE}-${SPAN}-01` };
  await send(setup, ...Array.from({ length: 200 }, (_, n) => track(`m${n}`, context)));
  await vi.waitFor(() => expect(setup.delivered).toHaveLength(200), WAIT);
  const dropped = /sluice_telemetry_dropped_total\{signal="traces"\} (\d+)/;
  // 200 messages have 600 spans. All but those in the queue and in one batch are lost by now.
  await vi.waitFor(async () => {
    expect(Number(dropped.exec(await setup.metrics())?.[1])).toBeGreaterThan(500);
  }, WAIT);
  await telemetry.close(100);
});

test.each<[string, string | undefined, Record<string, string>, RegExp]>([
  ["an endpoint that is no URL", "127.0.0.1:4318", {}, /must be an http or https URL/],
  ["gRPC", undefined, { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /"grpc" is not supported/],
  ["an unknown sampler", undefined, { OTEL_TRACES_SAMPLER: "sometimes" }, /got "sometimes"/],
  [
    "a ratio above 1",
    undefined,
    { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" },
    /from 0 to 1/,
  ],
])("refuses %s", (_, endpoint, env, message) => {
  expect(() => startTelemetry({ endpoint, version: "1", env })).toThrow(message);
});

test.each([
  ["OTEL_SDK_DISABLED", { OTEL_SDK_DISABLED: "true" }],
  ["OTEL_…_EXPORTER=none", { OTEL_TRACES_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" }],
])("%s exports nothing", async (_, env) => {
  await using otlp = await startReceiver();
  const telemetry = startTelemetry({ endpoint: otlp.url, version: "1", env: { ...json, ...env } });
  createLogger({ write: () => {}, also: telemetry.log }).info("ready");
  await telemetry.close(5_000);
  expect(otlp.contentTypes.size).toBe(0);
});

/** The W3C propagator of an application with an active span. */
function w3c(added: Record<string, string>) {
  return {
    inject(_: unknown, carrier: Record<string, string>): void {
      Object.assign(carrier, { traceparent: `00-${TRACE}-${SPAN}-01`, ...added });
    },
  };
}
