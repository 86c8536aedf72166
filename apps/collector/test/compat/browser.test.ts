import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type IngestServer, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

/** Timeout for a machine that is busy with other tests. */

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
const REASON = "needs Chromium: apt-get install chromium";
if (CHROMIUM === undefined && process.env.CI === undefined) console.warn(`skipped: ${REASON}`);

/** The library as its package ships it for a script tag. */
const UMD = join(
  dirname(createRequire(import.meta.url).resolve("@segment/analytics-next/package.json")),
  "dist/umd",
);

// In CI a missing browser is a failure, not a skip.
describe.skipIf(CHROMIUM === undefined && process.env.CI === undefined)(
  "@segment/analytics-next in Chromium",
  () => {
    let browser: Browser;
    let site: Server;
    let collector: IngestServer;
    let page: Page;
    const consoleErrors: string[] = [];

    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: CHROMIUM ?? "chromium is missing",
        args: [
          "--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--no-first-run",
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
        ],
      });
      // The page has another origin than the collector, as it has in life.
      site = createServer((request, response) => {
        const name = basename(request.url?.split("?")[0] ?? "");
        if (name.endsWith(".js") && existsSync(join(UMD, name))) {
          response.setHeader("content-type", "text/javascript");
          response.end(readFileSync(join(UMD, name)));
        } else {
          response.setHeader("content-type", "text/html");
          response.end("<!doctype html><title>Shop</title><h1>Shop</h1>");
        }
      });
      await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    });
    afterAll(async () => {
      await browser?.close();
      await new Promise((resolve) => site.close(resolve));
    });

    beforeEach(async () => {
      collector = await startIngestServer();
      consoleErrors.length = 0;
      page = await browser.newPage();
      page.on("console", (message) => {
        if (message.type() === "error") consoleErrors.push(message.text());
      });
      page.on("pageerror", (error) => consoleErrors.push(String(error)));
      const { port } = site.address() as AddressInfo;
      await page.goto(`http://localhost:${port}/?utm_source=test`);
    });
    afterEach(async () => {
      await page.close();
      await collector.close();
    });

    /** Loads the library with the snippet's own entry point, pointed at the collector for settings and for messages. */
    async function load(options: object = {}): Promise<void> {
      await page.evaluate(
        ([writeKey, host, more]) => {
          const w = globalThis as unknown as { analytics: unknown };
          w.analytics = Object.assign([], {
            _writeKey: writeKey,
            _cdn: host,
            _loadOptions: more,
            initialize: false,
            invoked: true,
            SNIPPET_VERSION: "5.2.1",
          });
        },
        [WRITE_KEY, collector.url, options] as const,
      );
      await page.addScriptTag({ url: "/standalone.js" });
      await page.waitForFunction(
        () =>
          (globalThis as unknown as { analytics: { initialized?: boolean } }).analytics.initialized === true,
      );
    }

    const stored = async () => (await collector.messages()).map(({ message }) => message);

    test("starts with our settings and sends each kind as one message", async () => {
      await load();
      await page.evaluate(async () => {
        const { analytics } = globalThis as unknown as {
          analytics: Record<string, (...args: unknown[]) => Promise<unknown>>;
        };
        await analytics.identify?.("u1", { email: "ada@example.com" });
        await analytics.track?.("Order Completed", { total: 129.95, text: "ü 🎈" });
        await analytics.page?.("Docs", "Home", { extra: true });
        await analytics.group?.("g1", { plan: "pro" });
        await analytics.alias?.("u2", "u1");
        await analytics.screen?.("Start");
      });
      await expect.poll(async () => (await stored()).length).toBe(6);
      const messages = await stored();
      expect(messages.map(({ type }) => type).sort()).toEqual([
        "alias",
        "group",
        "identify",
        "page",
        "screen",
        "track",
      ]);
      const track = messages.find(({ type }) => type === "track");
      expect(track).toMatchObject({
        event: "Order Completed",
        userId: "u1",
        properties: { total: 129.95, text: "ü 🎈" },
        context: { ip: "127.0.0.1", library: { name: "analytics.js" }, campaign: { source: "test" } },
      });
      expect(messages.find(({ type }) => type === "page")).toMatchObject({ name: "Home", category: "Docs" });
      expect(JSON.stringify(messages)).not.toContain(WRITE_KEY);
      expect(consoleErrors).toEqual([]);
    });

    test("sends batches, and what is left when the page is closed", async () => {
      await load({
        integrations: {
          "Segment.io": { deliveryStrategy: { strategy: "batching", config: { size: 10, timeout: 60_000 } } },
        },
      });
      await page.evaluate(async () => {
        const { analytics } = globalThis as unknown as {
          analytics: { track(event: string, properties: object): Promise<unknown> };
        };
        for (let n = 0; n < 13; n++) await analytics.track("Clicked", { n });
      });
      await expect.poll(async () => (await stored()).length).toBe(10);
      await page.goto("about:blank");
      await expect.poll(async () => (await stored()).length).toBe(13);
      expect(
        (await stored()).map(({ properties }) => (properties as { n: number }).n).sort((a, b) => a - b),
      ).toEqual(Array.from({ length: 13 }, (_, n) => n));
    });

    test("the page can read error answers, and send with Basic authorization", async () => {
      const answers = await page.evaluate(
        async ([url, key]) => {
          const post = async (path: string, headers: Record<string, string>, body: string) => {
            const response = await fetch(url + path, { method: "POST", headers, body });
            return [response.status, ((await response.json()) as { code?: string }).code ?? "ok"];
          };
          const authorization = `Basic ${btoa(`${key}:`)}`;
          return [
            await post(
              "/v1/batch",
              { authorization, "content-type": "application/json", "x-retry-count": "1" },
              '{"batch":[]}',
            ),
            await post("/v1/batch", { authorization: "Basic eDo=" }, '{"batch":[]}'),
            // No preflight for these two. The key comes first: without one a body is not parsed.
            await post("/v1/t", { "content-type": "text/plain" }, "{"),
            await post("/v1/t", { "content-type": "text/plain" }, `{"writeKey":"${key}"`),
          ];
        },
        [collector.url, WRITE_KEY] as const,
      );
      expect(answers).toEqual([
        [200, "ok"],
        [401, "invalid_write_key"],
        [401, "invalid_write_key"],
        [400, "malformed_json"],
      ]);
    });

    test("a 429 tells the page when to retry", async () => {
      await collector.close();
      collector = await startIngestServer({ messagesPerSecond: 1 });
      const [status, retryAfter, reset] = await page.evaluate(
        async ([url, writeKey]) => {
          const batch = Array.from({ length: 5 }, () => ({ type: "page", userId: "u" }));
          const post = () =>
            fetch(`${url}/v1/batch`, { method: "POST", body: JSON.stringify({ batch, writeKey }) });
          await post();
          const { status, headers } = await post();
          return [status, headers.get("retry-after"), headers.get("x-ratelimit-reset")] as const;
        },
        [collector.url, WRITE_KEY] as const,
      );
      expect([status, retryAfter, reset]).toEqual([429, "4", "4"]);
    });

    test("a page that can only load images is counted", async () => {
      const data = Buffer.from(
        JSON.stringify({ writeKey: WRITE_KEY, userId: "u1", event: "Opened" }),
      ).toString("base64url");
      const size = await page.evaluate(async (source) => {
        const { Image } = globalThis as unknown as {
          Image: new () => { src: string; readonly naturalWidth: number; decode(): Promise<void> };
        };
        const image = new Image();
        image.src = source;
        await image.decode();
        return image.naturalWidth;
      }, `${collector.url}/v1/pixel/track?data=${data}`);
      expect(size).toBe(1);
      expect(await stored()).toMatchObject([{ type: "track", event: "Opened" }]);
    });
  },
);
