import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type IngestServer,
  startIngestServer,
  WRITE_KEY,
} from "../../apps/collector/test/ingest/ingest-server.ts";
import { describeWithClients, MODULES } from "./installed.ts";
import { isBrowserMissing, launchChromium, type Site, startSite } from "./page.ts";

/** Timeout for a machine that is busy with other tests. */

const ANALYTICS_NEXT = dirname(
  createRequire(join(import.meta.dirname, "../../apps/collector/package.json")).resolve(
    "@segment/analytics-next/package.json",
  ),
);

const GUIDE = readFileSync(join(import.meta.dirname, "../../docs/guide/existing-clients.md"), "utf8");
const requireClient = createRequire(join(MODULES, "package.json"));

/** Segment's snippet with the two lines of the guide in place of the line that loads the library. */
function withChangesOfGuide(snippet: string): string {
  const [, before, after] = /^```diff\n-(.*)\n((?:\+.*\n)+)```/m.exec(GUIDE) ?? [];
  if (before === undefined || after === undefined || !snippet.includes(before))
    throw new Error("The guide does not change a line of the snippet");
  return snippet.replace(
    before,
    after
      .replaceAll(/^\+/gm, "")
      .replaceAll("https://events.example.com", collector.url)
      .replaceAll("https://www.example.com/", site.url),
  );
}

const SERVICE_WORKER = `
importScripts("/rudder-worker.js");
self.addEventListener("message", ({ data: { url, writeKey } }) => {
  const client = new rudderServiceWorker.Analytics(writeKey, url, { flushInterval: 200, logLevel: "off" });
  client.identify({ userId: "u1", traits: { plan: "pro" } });
  client.track({ userId: "u1", event: "Order Completed", properties: { total: 129.95 } });
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
`;

const SCRIPTS = {
  "rudder.js": join(MODULES, "@rudderstack/analytics-js/dist/npm/modern/bundled/umd/index.js"),
  "rudder-2.js": join(MODULES, "rudder-sdk-js/dist/npm/index.js"),
  "rudder-worker.js": join(MODULES, "@rudderstack/analytics-js-service-worker/dist/npm/modern/umd/index.js"),
  "worker.js": SERVICE_WORKER,
  "customerio.js": join(MODULES, "@customerio/cdp-analytics-browser/dist/umd/index.js"),
  "standalone.js": join(ANALYTICS_NEXT, "dist/umd/standalone.js"),
};

let browser: Browser;
let site: Site;
let collector: IngestServer;
let page: Page;
const consoleErrors: string[] = [];

beforeAll(async () => {
  if (isBrowserMissing) return;
  browser = await launchChromium();
  site = await startSite(SCRIPTS);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

beforeEach(async () => {
  collector = await startIngestServer();
  consoleErrors.length = 0;
  const context = await browser.newContext();
  page = await context.newPage();
  page.on("console", (message) => {
    // Version 2 of RudderStack's SDK says so on every page.
    if (message.type() === "error" && !message.text().includes("is deprecated"))
      consoleErrors.push(message.text());
  });
  page.on("pageerror", (error) => consoleErrors.push(String(error)));
});
afterEach(async () => {
  await page?.context().close();
  await collector?.close();
});

const stored = async () => (await collector.messages()).map(({ message }) => message);
const kinds = async () => (await stored()).map(({ type }) => type).sort();
const track = async () => (await stored()).find(({ type }) => type === "track");
const requests = async () =>
  [
    ...(await collector.metrics.render()).matchAll(
      /^sluice_http_requests_total\{route="([^"]+)",status="(\d+)"\} (\d+)/gm,
    ),
  ].map(([, route, status, count]) => `${route} ${status} ${count}`);

async function open(html: string): Promise<void> {
  site.show(html);
  await page.goto(`${site.url}?utm_source=test`);
}

const CALLS = `
  rudderanalytics.identify("u1", { email: "ada@example.com" });
  rudderanalytics.track("Order Completed", { total: 129.95, text: "ü 🎈" });
  rudderanalytics.page("Docs", "Home");
  rudderanalytics.group("g1", { plan: "pro" });
  rudderanalytics.alias("u2", "u1");
`;
const FIVE = ["alias", "group", "identify", "page", "track"];

function rudderPage(script: string, options: object): string {
  return `<script src="/${script}"></script><script>
    if (rudderanalytics.RudderAnalytics) rudderanalytics = new rudderanalytics.RudderAnalytics();
    rudderanalytics.load("${WRITE_KEY}", "${collector.url}", ${JSON.stringify({ configUrl: collector.url, ...options })});
    ${CALLS}
  </script>`;
}

describe.skipIf(isBrowserMissing)("in Chromium", () => {
  describeWithClients("Segment's snippet", () => {
    test("sends to the collector with the changes of the guide", async () => {
      const snippet: string = requireClient("@segment/snippet").min({ apiKey: WRITE_KEY, page: true });
      await open(`<script>${withChangesOfGuide(snippet)}
        analytics.identify("u1");
        analytics.track("Order Completed", { total: 129.95 });
      </script>`);
      await expect.poll(kinds).toEqual(["identify", "page", "track"]);
      expect(await track()).toMatchObject({
        event: "Order Completed",
        userId: "u1",
        properties: { total: 129.95 },
        context: { campaign: { source: "test" } },
      });
      expect(await requests()).toContain("/v1/projects/:writeKey/settings 200 1");
      expect(consoleErrors).toEqual([]);
    });
  });

  describeWithClients("Segment's snippet with an unknown key", () => {
    test("says so, and asks nobody else", async () => {
      const snippet: string = requireClient("@segment/snippet").min({ apiKey: "wk_nobody", page: true });
      const asked: string[] = [];
      page.on("response", (response) => asked.push(new URL(response.url()).pathname));
      await open(`<meta http-equiv="Content-Security-Policy" content="connect-src ${collector.url}">
        <script>${withChangesOfGuide(snippet)} analytics.track("Order Completed");</script>`);
      await expect.poll(() => consoleErrors.join()).toContain("invalid_write_key");
      await expect.poll(() => consoleErrors.join()).toMatch(/api\.segment\.io.* violates/);
      expect(asked).toEqual(["/", "/standalone.js", "/v1/projects/wk_nobody/settings"]);
      expect(await stored()).toEqual([]);
    });
  });

  describeWithClients("RudderStack's browser SDK", () => {
    test.each([
      ["rudder.js", "single messages", {}],
      [
        "rudder.js",
        "batches",
        { queueOptions: { batch: { enabled: true, maxItems: 5, flushInterval: 500 } } },
      ],
      ["rudder-2.js", "single messages", {}],
    ])("%s starts and sends %s", async (script, _name, options) => {
      await open(rudderPage(script, options));
      await expect.poll(kinds).toEqual(FIVE);
      expect(await track()).toMatchObject({
        event: "Order Completed",
        userId: "u1",
        properties: { total: 129.95, text: "ü 🎈" },
      });
      expect((await stored()).find(({ type }) => type === "identify")).toMatchObject({
        traits: { email: "ada@example.com" },
      });
      expect(await requests()).toContain("/sourceConfig 200 1");
      expect(consoleErrors).toEqual([]);
    });

    test.each(["rudder.js", "rudder-2.js"])(
      "%s sends beacons, also when the page is left",
      async (script) => {
        await open(
          rudderPage(script, {
            useBeacon: true,
            beaconQueueOptions: { maxItems: 50, flushQueueInterval: 600_000 },
          }),
        );
        await page.waitForFunction(
          () => (globalThis as unknown as { rudderanalytics: { ready: unknown } }).rudderanalytics.ready,
        );
        await expect.poll(requests).toContain("/sourceConfig 200 1");
        await page.waitForTimeout(0);
        await page.goto("about:blank");
        await expect.poll(kinds).toEqual(FIVE);
        expect((await requests()).filter((request) => request.startsWith("/beacon"))).toEqual([
          "/beacon/v1/batch 200 1",
        ]);
        expect(consoleErrors).toEqual([]);
      },
    );

    test("does not start with an unknown key, and says so", async () => {
      await open(rudderPage("rudder.js", {}).replace(WRITE_KEY, "wk_nobody"));
      await expect.poll(requests).toContain("/sourceConfig 401 1");
      await expect.poll(() => consoleErrors.join()).toContain("401");
      expect(await stored()).toEqual([]);
    });
  });

  describeWithClients("@rudderstack/analytics-js-service-worker", () => {
    test("delivers from a service worker", async () => {
      await open("");
      await page.evaluate(
        async ([url, writeKey]) => {
          const { navigator } = globalThis as unknown as {
            navigator: {
              serviceWorker: {
                register(path: string): Promise<unknown>;
                ready: Promise<{ active: { postMessage(message: object): void } }>;
              };
            };
          };
          await navigator.serviceWorker.register("/worker.js");
          (await navigator.serviceWorker.ready).active.postMessage({ url, writeKey });
        },
        [collector.url, WRITE_KEY] as const,
      );
      await expect.poll(kinds).toEqual(["identify", "track"]);
      expect(await track()).toMatchObject({ event: "Order Completed", properties: { total: 129.95 } });
    });
  });

  describeWithClients("@customerio/cdp-analytics-browser", () => {
    test("sends to the address in its settings", async () => {
      const settings = { apiKey: WRITE_KEY, apiHost: `${new URL(collector.url).host}/v1`, protocol: "http" };
      await open(`<script src="/customerio.js"></script><script>
        AnalyticsNext.AnalyticsBrowser.load({
          writeKey: "${WRITE_KEY}",
          cdnSettings: { integrations: { "Customer.io Data Pipelines": ${JSON.stringify(settings)} } },
        }).then(async ([analytics]) => {
          await analytics.identify("u1", { email: "ada@example.com" });
          await analytics.track("Order Completed", { total: 129.95 });
          await analytics.page("Docs", "Home");
        });
      </script>`);
      await expect.poll(kinds).toEqual(["identify", "page", "track"]);
      expect(await track()).toMatchObject({
        event: "Order Completed",
        userId: "u1",
        properties: { total: 129.95 },
      });
      expect(consoleErrors).toEqual([]);
    });
  });
});
