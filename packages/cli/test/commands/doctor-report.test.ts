import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminClient } from "@sluice/admin-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  Aliases,
  codeInText,
  failureCode,
  maskedAnswer,
  maskedMetrics,
} from "../../src/commands/doctor/report/collector-facts.js";
import { cli, collectorForCli, receiver } from "../support/cli.js";

/** Texts that must not be in a report; each is planted where a user could have it. */
const PLANTED = [
  "marker-event",
  "marker-user",
  "marker-anonymous",
  "marker@person.example",
  "marker-property",
  "marker-trait",
  "marker-context",
  "marker-source-name",
  "marker-destination-name",
  "marker-audience-name",
  "marker-url-path",
  "marker-url-query",
  "marker-header",
  "marker-answer",
  "marker-blocked",
  "marker-filter",
  "marker-token-name",
  "marker-admin-token-of-the-environment",
  "marker-metrics-token-of-the-environment",
  "marker.public.example",
  "marker-data-folder",
  "marker-allowed",
  "marker-proxy-password",
  "marker-option",
  "marker-config-file",
  "marker-unknown-setting",
];

let at: Awaited<ReturnType<typeof collectorForCli>>;
let hook: Awaited<ReturnType<typeof receiver>>;
let folder: string;

beforeAll(async () => {
  at = await collectorForCli();
  hook = await receiver(500);
  folder = await mkdtemp(join(tmpdir(), "marker-data-folder-"));
});
afterAll(async () => {
  await at[Symbol.asyncDispose]();
  await hook[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const client = () => adminClient({ url: at.url, token: at.adminToken });

/** Fills every place that can have a text of a user. Resolves with the ids that were made. */
async function plant(): Promise<string[]> {
  const admin = client();
  const { id: sourceId } = await admin.sources.create({
    name: "marker-source-name",
    blockedEvents: ["marker-blocked"],
  });
  const destination = await admin.destinations.create({
    type: "webhooks",
    name: "marker-destination-name",
    sourceIds: [at.sourceId, sourceId],
    filters: [{ events: ["marker-filter"], action: { kind: "drop" } }],
    settings: {
      webhooks: [
        {
          url: `${hook.url}marker-url-path?token=marker-url-query`,
          headers: { "x-secret": "marker-header" },
        },
      ],
    },
  });
  await admin.audiences.create({
    name: "marker-audience-name",
    condition: { kind: "event", event: "marker-event", times: { atLeast: 1 } },
  });
  await admin.tokens.create({ name: "marker-token-name", access: "read" });
  const answer = await fetch(`${at.url}/v1/batch`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${at.writeKey}:`).toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      batch: [
        {
          type: "track",
          event: "marker-event",
          userId: "marker-user",
          anonymousId: "marker-anonymous",
          properties: { text: "marker-property" },
          context: { page: { url: "https://marker-context.example/" } },
        },
        {
          type: "identify",
          userId: "marker-user",
          traits: { email: "marker@person.example", x: "marker-trait" },
        },
      ],
    }),
  });
  expect(answer.status).toBe(200);
  await expect.poll(async () => (await admin.destinations.status(destination.id)).lastError).toBeDefined();
  return [sourceId, destination.id];
}

async function environment(): Promise<Record<string, string>> {
  const config = join(folder, "marker-config-file.json");
  await writeFile(
    config,
    JSON.stringify({ maxConnections: 123, host: "marker-allowed", "marker-unknown-setting": 1 }),
  );
  return {
    ...at.env,
    SLUICE_CONFIG: config,
    SLUICE_ADMIN_TOKEN: "marker-admin-token-of-the-environment",
    SLUICE_METRICS_TOKEN: "marker-metrics-token-of-the-environment",
    SLUICE_PUBLIC_URL: "https://marker.public.example/in",
    SLUICE_DATA_DIR: join(folder, "data"),
    SLUICE_ALLOW_TARGETS: "marker-allowed,10.0.0.0/8",
    SLUICE_RETENTION_MS: "864000000",
    SLUICE_LOG_LEVEL: "debug",
    HTTPS_PROXY: "http://user:marker-proxy-password@127.0.0.1:3128",
    NODE_OPTIONS: "--title=marker-option",
  };
}

describe("doctor --report", () => {
  it("has everything for a bug report, and nothing personal", async () => {
    const ids = await plant();
    const running = cli(["doctor", "--report", "report.json"], { env: await environment(), cwd: folder });
    await running.code;
    const file = join(folder, "report.json");
    const text = await readFile(file, "utf8");
    const secrets = [at.adminToken, at.writeKey, at.sourceId, ...ids, at.url, hook.url, folder, at.directory];
    for (const hidden of [...PLANTED, ...secrets]) expect(text).not.toContain(hidden);
    expect(text).not.toMatch(/marker/i);

    const report = JSON.parse(text);
    expect(report).toMatchObject({
      format: 1,
      program: { node: process.versions.node },
      machine: { platform: process.platform },
      configuration: {
        file: "read",
        settings: {
          adminToken: { from: "environment", value: "(set, hidden)" },
          allowTargets: { from: "environment", value: "(2 hidden)" },
          host: { from: "file", value: "(set, hidden)" },
          logLevel: { from: "environment", value: "debug" },
          maxConnections: { from: "file", value: 123 },
          publicUrl: { from: "environment", value: "(set, hidden)" },
          retentionMs: { from: "environment", value: 864_000_000 },
        },
        variables: ["NODE_OPTIONS", "HTTPS_PROXY"],
      },
      addresses: {
        all: { scheme: "http", isLoopback: true, result: 200, tookMs: expect.any(Number) },
      },
      collector: { mode: "dev", storage: { kind: "ready" }, token: { access: "full" } },
      audiences: { behind: expect.any(Number) },
      logs: expect.stringContaining("not included"),
    });
    expect(report.checks).toContainEqual({ name: "token", result: "ok" });
    expect(report.health.sources).toMatchObject([{ sourceId: "source-1" }, { sourceId: "source-2" }]);
    expect(report.health.destinations).toMatchObject([
      { destinationId: "destination-1", health: "failing", retries: expect.any(Number) },
    ]);
    expect(report.failures).toEqual([
      expect.objectContaining({ destinationId: "destination-1", cause: "http_500" }),
    ]);
    expect(report.metrics).toMatchObject({
      sluice_store_messages: expect.any(Number),
      sluice_disk_free_bytes: expect.any(Number),
      'sluice_source_messages_total{source="source-1"}': 2,
    });

    expect(running.err()).toContain("Report written to report.json");
    expect(running.err()).toContain("Read it before you send it");
    if (process.platform !== "win32") expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("keeps a file that exists, and follows no link", async () => {
    const file = join(folder, "mine.json");
    await writeFile(file, "mine");
    await symlink(join(folder, "elsewhere.json"), join(folder, "link.json"));
    for (const name of ["mine.json", "link.json"]) {
      const running = cli(["doctor", "--report", name], { env: at.env, cwd: folder });
      expect(await running.code).toBe(2);
      expect(running.err()).toContain(`${name} exists and was not changed`);
    }
    expect(await readFile(file, "utf8")).toBe("mine");
    await expect(stat(join(folder, "elsewhere.json"))).rejects.toThrow("ENOENT");
  });

  it("writes what it can without a collector", async () => {
    const env = { SLUICE_URL: "http://127.0.0.1:1", SLUICE_TOKEN: "marker-token-name" };
    const running = cli(["doctor", "--json", "--report"], { env, cwd: folder });
    expect(await running.code).toBe(6);
    const { report: name } = JSON.parse(running.out());
    expect(name).toMatch(/^sluice-report-.*Z\.json$/);
    const report = JSON.parse(await readFile(join(folder, name), "utf8"));
    expect(report).toMatchObject({
      addresses: { all: { result: expect.any(String), tookMs: expect.any(Number) } },
      collector: { unavailable: "the address is not ready" },
    });
  });
});

describe("what a report leaves out", () => {
  it("numbers the labels of metrics that name something", () => {
    const text = [
      "# HELP sluice_x A marker",
      'sluice_x{source="src_marker",code="timeout"} 3',
      'sluice_x{source="src_marker",code="a marker with spaces"} 1',
      'sluice_y{consumer="dst_\\"marker"} NaN',
      'sluice_y{consumer="audiences"} 1e3',
      "nodejs_z 4",
      "marker_metric 1",
      "sluice_x marker",
      "marker",
    ].join("\n");
    expect(maskedMetrics(text, new Aliases())).toEqual({
      'sluice_x{source="source-1",code="timeout"}': 3,
      'sluice_x{source="source-1",code="code-1"}': 1,
      'sluice_y{consumer="destination-1"}': "NaN",
      'sluice_y{consumer="audiences"}': 1000,
      nodejs_z: 4,
      sluice_x: "NaN",
    });
  });

  it("keeps numbers, times and fixed words of an answer", () => {
    const answer = {
      destinationId: "dst_marker",
      health: "failing",
      reason: "write ENOSPC /home/marker",
      since: "2026-11-21T09:30:08.276Z",
      urls: [{ url: "https://marker.example", health: "a marker with spaces" }],
      retries: 2,
    };
    expect(JSON.parse(JSON.stringify(maskedAnswer(answer, new Aliases())))).toEqual({
      destinationId: "destination-1",
      health: "failing",
      reason: "ENOSPC",
      since: "2026-11-21T09:30:08.276Z",
      urls: [{}],
      retries: 2,
    });
  });

  it.each([
    ["a code of the system", Object.assign(new Error("marker"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    [
      "the cause's code",
      new TypeError("marker", { cause: Object.assign(new Error(), { code: "ENOTFOUND" }) }),
      "ENOTFOUND",
    ],
    ["a text as code", Object.assign(new Error("x"), { code: "a marker" }), "Error"],
    ["a name with a text", Object.assign(new Error("x"), { name: "a marker" }), "unknown"],
    ["no error", "marker", "unknown"],
  ])("names %s", (_, error, code) => {
    expect(failureCode(error)).toBe(code);
  });

  it.each([
    ["ENOSPC: no space left on device, write '/home/marker'", "ENOSPC"],
    ["SQLITE_FULL at /home/marker", "SQLITE_FULL"],
    ["the disk of marker", undefined],
  ])("takes only the code of %s", (text, code) => {
    expect(codeInText(text)).toBe(code);
  });
});
