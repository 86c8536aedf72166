import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { openMemoryStore } from "@sluice/event-log";
import { LIMITS } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { expect, test } from "vitest";
import { ERRORS } from "../../src/errors.js";
import { HTTP_LIMITS } from "../../src/http/limits.js";
import { ingestMetrics } from "../../src/ingest/ingest-metrics.js";
import { MAX_NESTING } from "../../src/ingest/messages/open-request.js";
import { ingestRoutes } from "../../src/ingest/routes.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const page = (name: string): string =>
  readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");

const httpApi = page("reference/http-api.md");
const routes = ingestRoutes({
  store: openMemoryStore({ clock: systemClock }),
  sources: {
    planOf: () => undefined,
    has: () => true,
    find: () => undefined,
    version: 0,
    begin: () => () => {},
    close: () => {},
  },
  clock: systemClock,
  logger: createLogger(),
  metrics: ingestMetrics(createMetrics(), systemClock),
  live: liveEvents(),
  region: "oregon",
  regionUrls: {},
});

test("docs/reference/http-api.md lists every ingestion address with its method, and no other", () => {
  const rows = Array.from(httpApi.matchAll(/^\| (GET|POST) \| (.*?) \|/gm), ([, method, cell]) =>
    Array.from((cell ?? "").matchAll(/`(\/[^`?]*)[^`]*`/g), ([, path]) => `${method} ${path}`),
  ).flat();
  expect(rows.sort()).toEqual(
    routes.flatMap(({ path, methods }) => Object.keys(methods).map((method) => `${method} ${path}`)).sort(),
  );
});

test("docs/reference/http-api.md gives the numbers of the code", () => {
  const thousands = (n: number): string => n.toLocaleString("en-US");
  for (const text of [
    `${thousands(LIMITS.messageBytes)} bytes`,
    `${thousands(LIMITS.batchBytes)} bytes`,
    `| ${thousands(LIMITS.batchMessages)} |`,
    `shorter than ${LIMITS.messageIdLength} characters`,
    `${thousands(MAX_NESTING)} levels`,
    `${HTTP_LIMITS.requestTimeoutMs / 1_000} s (headers: ${HTTP_LIMITS.headersTimeoutMs / 1_000} s)`,
  ])
    expect(httpApi).toContain(text);
});

test("docs/reference/http-api.md gives each code with its status", () => {
  const rows = Array.from(httpApi.matchAll(/^\| (\d{3}) \| `([a-z_]+)` \|/gm), ([, status, code]) => [
    code,
    Number(status),
  ]);
  expect(rows.length).toBeGreaterThan(10);
  for (const [code, status] of rows)
    expect([code, ERRORS[code as keyof typeof ERRORS]?.status]).toEqual([code, status]);
});

test("docs/guide/existing-clients.md names the versions that are tested", () => {
  const guide = page("guide/existing-clients.md");
  const { devDependencies } = createRequire(import.meta.url)("../../package.json") as {
    devDependencies: Record<string, string>;
  };
  for (const name of [
    "@segment/analytics-node",
    "analytics-node",
    "@rudderstack/rudder-sdk-node",
    "@segment/analytics-next",
  ])
    expect(guide.replaceAll("\n", " ")).toContain(`\`${name}\` ${devDependencies[name]}`);
});
