import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { clockTime, dayOf } from "../src/words/times.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const DAY_MS = 86_400_000;
const RATES = ["Messages", "Latency"];
/** Of rates and of an audience's size. */
const COUNTS = {
  accepted: 40,
  rejected: 0,
  delivered: 40,
  failed: 0,
  retried: 0,
  latencyP50Ms: 20,
  size: 12,
};

describeInBrowser("a chart of one point", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  let audience: string;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    await dashboard.send({ type: "track", messageId: "one", userId: "ada", event: "Order Completed" });
    const condition = { kind: "trait", trait: "plan", is: "equals", value: "pro" };
    audience = (await dashboard.api<{ id: string }>("POST", "/audiences", { name: "Pro", condition })).id;
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser);
    page = watched.page;
    await page.addInitScript(keepAxisLabels);
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  /** The number of pixels that are drawn in colour, and the labels of the axes. */
  async function chart(
    name: RegExp,
  ): Promise<{ readonly drawn: number; readonly labels: readonly string[] }> {
    const canvas = page.getByRole("img", { name }).locator("canvas");
    return canvas.evaluate((element: HTMLCanvasElement & { labels?: readonly string[] }) => {
      const { width, height } = element;
      const { data } = element.getContext("2d")?.getImageData(0, 0, width, height) ?? { data: [] };
      let drawn = 0;
      // Texts and grid are grey; lines and points are not.
      for (let at = 0; at < data.length; at += 4) {
        const [red = 0, green = 0, blue = 0, alpha = 0] = data.slice(at, at + 4);
        if (alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) drawn++;
      }
      return { drawn, labels: element.labels ?? [] };
    });
  }

  test.each([
    { choice: "5 min", spanMs: 300_000, names: RATES },
    { choice: "1 hour", spanMs: 3_600_000, names: RATES },
    { choice: "24 hours", spanMs: DAY_MS, names: RATES },
    { choice: "7 days", spanMs: 7 * DAY_MS, names: ["Members"] },
    { choice: "1 year", spanMs: 365 * DAY_MS, names: ["Members"] },
  ])("shows it, and only the last $choice", async ({ choice, spanMs, names }) => {
    const atMs = Date.now();
    const point = { at: new Date(atMs).toISOString(), overMs: 2_000, ...COUNTS };
    await page.route(/\/counters\?of=(collector|audience)/, (route) =>
      route.fulfill({ json: { everyMs: 2_000, points: [point] } }),
    );
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    if (names !== RATES) await page.goto(`${dashboard.url}/audiences/${audience}`);
    await page.getByRole("radio", { name: choice }).check();
    const stepMs = spanMs > DAY_MS ? 3_600_000 : 1_000;
    const known = timesIn(atMs, spanMs, stepMs).map((ms) =>
      spanMs > DAY_MS ? dayOf(ms) : clockTime(ms, "min"),
    );
    for (const name of names) {
      const { drawn, labels } = await chart(new RegExp(`^${name} .*over ${choice}`));
      expect(drawn, name).toBeGreaterThan(10);
      const times = labels.filter((label) => /^\d\d:\d\d$|^\d+ [A-Z]/.test(label));
      expect(times.length, name).toBeGreaterThan(0);
      expect(times.filter((label) => !known.includes(label))).toEqual([]);
    }
  });

  test("latencies of minutes have an axis of whole minutes", async () => {
    const latencies = { latencyP50Ms: 200_000, latencyP99Ms: 400_000, latencyMaxMs: 400_000 };
    const point = { at: new Date().toISOString(), overMs: 2_000, ...COUNTS, ...latencies };
    await page.route(/\/counters\?of=collector/, (route) =>
      route.fulfill({ json: { everyMs: 2_000, points: [point] } }),
    );
    await page.goto(dashboard.signInUrl);
    const { labels } = await chart(/^Latency .*over 5 min/);
    const durations = labels.filter((label) => !/^\d\d:\d\d$/.test(label));
    expect(durations).toContain("2 min");
    expect(durations.filter((label) => !/^(0 ms|\d+ min)$/.test(label))).toEqual([]);
  });
});

function timesIn(toMs: number, spanMs: number, stepMs: number): number[] {
  return Array.from({ length: spanMs / stepMs + 1 }, (_, step) => toMs - step * stepMs);
}

/** Keeps the texts that are written to each canvas since it was cleared. Runs in the page. */
function keepAxisLabels(): void {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  type Kept = { labels?: string[] };
  Object.assign(CanvasRenderingContext2D.prototype, {
    fillText(this: CanvasRenderingContext2D, text: string, x: number, y: number) {
      const canvas = this.canvas as Kept;
      canvas.labels = [...(canvas.labels ?? []), text];
      fillText.call(this, text, x, y);
    },
    clearRect(this: CanvasRenderingContext2D, x: number, y: number, width: number, height: number) {
      (this.canvas as Kept).labels = [];
      clearRect.call(this, x, y, width, height);
    },
  });
}
