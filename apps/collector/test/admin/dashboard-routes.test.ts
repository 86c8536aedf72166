import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "@sluice/resilience/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesInFolder } from "../../src/admin/dashboard/dashboard-files.js";
import { DASHBOARD_PAGES, dashboardRoutes } from "../../src/admin/dashboard/dashboard-routes.js";
import { type HttpServer, startServer } from "../../src/http/server.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const PAGE = "<!doctype html><title>Sluice</title>";
const folder = mkdtempSync(join(tmpdir(), "sluice-dashboard-"));
let server: HttpServer;

beforeAll(async () => {
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), PAGE);
  writeFileSync(join(folder, "assets", "index-abc.js"), "export const a = 1;".repeat(100));
  writeFileSync(join(folder, "assets", "index-abc.js.map"), "{}");
  server = await startServer({
    host: "127.0.0.1",
    port: 0,
    clock: manualClock(),
    logger: createLogger({ write() {} }),
    metrics: createMetrics(),
    routes: dashboardRoutes(filesInFolder(folder)),
  });
});

afterAll(async () => {
  await server.close(0);
  rmSync(folder, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers: { "accept-encoding": "identity", ...headers } });

describe("the dashboard's files", () => {
  it.each(["/", "/live", "/messages/a%2Fb", "/audiences/x/edit"])(
    "answers %s with its page",
    async (path) => {
      const response = await get(path);
      expect(await response.text()).toBe(PAGE);
      expect(response.headers.get("content-type")).toContain("text/html");
      expect(response.headers.get("cache-control")).toBe("no-cache");
    },
  );

  it.each(["/nope", "/nope/deeper", "/nope.html"])(
    "answers %s with its page and a 404, if a browser asks",
    async (path) => {
      const response = await get(path, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
      expect([response.status, await response.text()]).toEqual([404, PAGE]);
    },
  );

  it.each([
    ["/nope", "*/*", "GET"],
    ["/nope", "application/json", "GET"],
    ["/nope", "text/html", "POST"],
    ["/v1/nope", "text/html", "GET"],
    ["/api/v1/nope", "text/html", "GET"],
    ["/api", "text/html", "GET"],
  ])("answers %s with JSON, for %s by %s", async (path, accept, method) => {
    const response = await fetch(`${server.url}${path}`, { method, headers: { accept } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "not_found" });
  });

  it("allows nothing that is not its own, and no script in the page", async () => {
    const csp = (await get("/")).headers.get("content-security-policy") ?? "";
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("script-src 'self'");
    expect(csp).not.toContain("unsafe");
  });

  it("lets assets be kept for ever, and compresses them", async () => {
    const response = await get("/assets/index-abc.js");
    expect(response.headers.get("cache-control")).toContain("immutable");
    const text = await response.text();
    const compressed = await get("/assets/index-abc.js", { "accept-encoding": "gzip" });
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    expect(await compressed.text()).toBe(text);
  });

  it("answers 304 to whoever has it", async () => {
    const etag = (await get("/")).headers.get("etag") ?? "";
    expect((await get("/", { "if-none-match": etag })).status).toBe(304);
  });

  it.each([
    "/assets/none.js",
    "/assets/index-abc.js.map",
    "/v1/none",
    "/api/v1/none",
    "/assets/../index.html/x",
  ])("has nothing at %s", async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  it("knows every address that the dashboard has", () => {
    const addresses = readFileSync(
      new URL("../../../dashboard/src/routing/addresses.ts", import.meta.url),
      "utf8",
    );
    const first = [...addresses.matchAll(/["`]\/([a-z-]+)/g)].map(([, segment]) => segment);
    // The guides are files of their own.
    expect(new Set(first)).toEqual(new Set([...DASHBOARD_PAGES, "docs"]));
  });
});
