import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort, runCollector, stopProcess } from "../../../docs/test/running-collector.ts";
import { type OtlpReceiver, startReceiver } from "../../../packages/opentelemetry/test/receiver.ts";
import { until } from "../../chaos/until.ts";

const PROGRAM = join(import.meta.dirname, "bin/otelcol");
const isMissing = process.env.CI === undefined && !existsSync(PROGRAM);
if (isMissing) console.warn("skipped: needs OpenTelemetry's collector: npm run polyglot:install");

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

describe.skipIf(isMissing)("OpenTelemetry's collector", () => {
  let otelcol: ChildProcess;
  let otelcolUrl: string;
  /** What comes out of it. */
  let receiver: OtlpReceiver;
  /** The parts of spans that do not depend on the run, by protocol. */
  const shapes = new Map<string, readonly string[]>();

  beforeAll(async () => {
    receiver = await startReceiver();
    const address = `127.0.0.1:${await freePort()}`;
    otelcolUrl = `http://${address}`;
    const pipeline = { receivers: ["otlp"], exporters: ["otlp_http"] };
    const config = {
      receivers: { otlp: { protocols: { http: { endpoint: address } } } },
      exporters: { otlp_http: { endpoint: receiver.url, encoding: "json", compression: "none" } },
      service: {
        telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
        pipelines: { traces: pipeline, logs: pipeline },
      },
    };
    otelcol = spawn(PROGRAM, ["--config", `yaml:${JSON.stringify(config)}`], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    await until("OpenTelemetry's collector answers", async () => {
      const headers = { "content-type": "application/json" };
      const answer = fetch(`${otelcolUrl}/v1/traces`, { method: "POST", body: "{}", headers });
      return (await answer.catch(() => undefined))?.ok === true;
    });
  });
  afterAll(async () => {
    if (otelcol !== undefined) await stopProcess(otelcol, "SIGTERM");
    await receiver?.[Symbol.asyncDispose]();
  });
  afterEach(() => vi.unstubAllEnvs());

  test.each(["http/protobuf", "http/json"])(
    "passes on the spans and log lines of a collector as they are, in %s",
    async (protocol) => {
      await using exported = await startReceiver();
      const door = await startDoor([otelcolUrl, exported.url]);
      vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", urlOf(door));
      vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
      vi.stubEnv("OTEL_SERVICE_NAME", protocol);
      vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "20");
      const [spans, logs] = [receiver.spans.length, receiver.logs.length];
      const collector = await runCollector();
      try {
        await send(collector.env);
        await until("the spans arrive", () => receiver.spans.length >= spans + 3);
      } finally {
        await collector.close();
        door.close();
      }
      const arrived = receiver.spans.slice(spans);
      expect(arrived.map(({ name }) => name).sort()).toEqual([
        "sluice attempt",
        "sluice ingest",
        "sluice settle",
      ]);
      expect(arrived.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE]);
      const ingest = arrived.find(({ name }) => name === "sluice ingest");
      expect(ingest?.parentSpanId).toBe(PARENT);
      expect(arrived.filter(({ parentSpanId }) => parentSpanId === ingest?.spanId).length).toBe(2);
      expect(receiver.resources.join()).toContain(`"stringValue":"${protocol}"`);
      shapes.set(protocol, arrived.flatMap(shapeOf).sort());

      await until("log lines arrive", () => receiver.logs.length > logs);
      if (protocol !== "http/json") return;
      await until("all log lines arrive", () => receiver.logs.length >= logs + exported.logs.length);
      expect(comparable(arrived)).toEqual(comparable(exported.spans));
      expect(comparable(receiver.logs.slice(logs))).toEqual(comparable(exported.logs));
    },
    60_000,
  );

  test("passes on the same in both", () => {
    expect(shapes.get("http/protobuf")).toEqual(shapes.get("http/json"));
    expect(shapes.get("http/json")?.length).toBeGreaterThan(10);
  });

  /** A message with a trace, and a destination for it. */
  async function send(env: Readonly<Record<string, string>>): Promise<void> {
    const post = async (path: string, authorization: string, body: object): Promise<void> => {
      const headers = { authorization, "content-type": "application/json" };
      const response = await fetch(env.SLUICE_URL + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(await response.text());
    };
    await post("/api/v1/destinations", `Bearer ${env.SLUICE_ADMIN_TOKEN}`, {
      type: "webhooks",
      sourceIds: [env.SLUICE_SOURCE_ID],
      settings: { webhooks: [{ url: `${receiver.url}/webhook` }] },
      enabled: true,
    });
    await post("/v1/track", `Basic ${Buffer.from(`${env.SLUICE_WRITE_KEY}:`).toString("base64")}`, {
      userId: "u1",
      event: "Größe ✓",
      context: { traceparent: `00-${TRACE}-${PARENT}-01` },
    });
  }
});

/** Passes each request on to all of `urls`, and responds as the first did. */
async function startDoor(urls: readonly string[]): Promise<Server> {
  const door = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = { "content-type": String(request.headers["content-type"]) };
    const body = Buffer.concat(chunks);
    const [answer] = await Promise.all(
      urls.map((url) => fetch(url + request.url, { method: "POST", headers, body })),
    );
    response.writeHead(answer?.status ?? 500, headers).end(await answer?.bytes());
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  return door;
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** A span's attributes with the kinds of their values. */
const shapeOf = ({ name, attributes }: OtlpReceiver["spans"][number]): string[] =>
  attributes.map(({ key, value }) => `${name}: ${key} ${Object.keys(value)}`);

/** OTLP's JSON may write an integer as text, and may leave out what is zero or empty. */
function comparable(items: readonly unknown[]): unknown[] {
  const texts = items.map((item) => JSON.stringify(normalized(item)));
  return texts.sort().map((text) => JSON.parse(text) as unknown);
}

function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(normalized);
  if (typeof value !== "object" || value === null)
    return value === 0 || value === "" ? undefined : String(value);
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const kept = normalized(field);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return fields.length === 0
    ? undefined
    : Object.fromEntries(fields.sort(([one], [other]) => (one < other ? -1 : 1)));
}
