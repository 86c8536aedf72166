import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const MESSAGES = 100_000;
/** Rows that may be in the document at once: one screen and some more around it. */
const MOST_ROWS = 80;

describeInBrowser("many messages", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    watched = await openPage(browser, { width: 1_280, height: 900 });
    page = watched.page;
    // 100,000 messages in pages of 10,000: this tests the list, not the store.
    await page.route("**/api/v1/messages?*", async (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
      const items = Array.from({ length: Math.min(10_000, MESSAGES - from) }, (_, index) =>
        messageAt(from + index),
      );
      const next = from + items.length;
      await route.fulfill({ json: { items, ...(next < MESSAGES ? { nextCursor: String(next) } : {}) } });
    });
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  test("scrolls through 100,000 without a blank frame, with few of them in the document", async () => {
    await page.goto(`${dashboard.url}/live`);
    const list = page.getByRole("listbox");
    await list.focus();
    // Scrolling to the end loads more rows, until all are loaded.
    await expect
      .poll(
        async () => {
          await list.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
          return Number(await page.getByRole("option").last().getAttribute("aria-setsize"));
        },
        { interval: 50 },
      )
      .toBe(MESSAGES);
    await page.keyboard.press("End");
    await page.getByRole("option", { name: "Message 99999" }).waitFor();

    const seen = await list.evaluate(scrollThrough, MOST_ROWS);
    expect(seen.blankFrames).toBe(0);
    expect(seen.mostRows).toBeLessThanOrEqual(MOST_ROWS);
    expect(seen.frames).toBeGreaterThan(100);

    await list.focus();
    await page.keyboard.press("Home");
    await page.getByRole("option", { name: /Message 0\b/ }).waitFor();
    expect(watched.problems).toEqual([]);
  });

  test("new messages wait while the list is scrolled down, and a button shows them", async () => {
    await page.goto(`${dashboard.url}/live`);
    await page.getByText("Message 3", { exact: true }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("listbox").evaluate((list) => list.scrollTo({ top: 2_000 }));
    await page.getByText("Message 60", { exact: true }).waitFor();
    await dashboard.send({ type: "track", userId: "u", event: "Came Later" });
    await page.getByRole("button", { name: "1 new message" }).click();
    await page.getByRole("option", { name: /Came Later/ }).waitFor();
    expect(watched.problems).toEqual([]);
  });

  test("a pause holds new messages", async () => {
    await page.goto(`${dashboard.url}/live`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByText("Message 3", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await dashboard.send({ type: "track", userId: "u", event: "During The Pause" });
    await page.getByRole("button", { name: "1 new message" }).waitFor();
    expect(await page.getByRole("option", { name: /During The Pause/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("option", { name: /During The Pause/ }).waitFor();
  });
});

function messageAt(place: number): object {
  return {
    messageId: `m${place}`,
    sourceId: "src_many",
    receivedAt: new Date(Date.UTC(2026, 0, 2) - place * 10).toISOString(),
    message: { type: "track", userId: `user-${place % 977}`, event: `Message ${place}` },
    outcomes: [],
  };
}

/** Scrolls from bottom to top in jumps and in small steps, and checks every frame. Runs in the page. */
async function scrollThrough(
  list: HTMLElement | SVGElement,
  mostRows: number,
): Promise<{ frames: number; blankFrames: number; mostRows: number }> {
  const box = list.getBoundingClientRect();
  let frames = 0;
  let blankFrames = 0;
  let most = 0;
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const look = () => {
    const rows = list.querySelectorAll('[role="option"]').length;
    most = Math.max(most, rows);
    frames++;
    const middle = document.elementFromPoint(box.left + box.width / 3, box.top + box.height / 2);
    if (middle?.closest('[role="option"]') === null || rows === 0 || rows > mostRows * 10) blankFrames++;
  };
  for (let part = 40; part >= 0; part--) {
    list.scrollTo({ top: ((list.scrollHeight - list.clientHeight) * part) / 40 });
    // A jump is drawn one frame later, after the scroll event.
    await frame();
    await frame();
    look();
    for (let step = 0; step < 2; step++) {
      list.scrollBy({ top: -120 });
      await frame();
      look();
    }
  }
  return { frames, blankFrames, mostRows: most };
}
