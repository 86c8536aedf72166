import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const MESSAGES = 600;

describeInBrowser("the browser's Back", () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    [dashboard, browser] = await Promise.all([runDashboard(), openBrowser()]);
    await dashboard.api("POST", "/destinations", {
      type: "webhooks",
      name: "Hooks",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/hook` }] },
      enabled: true,
    });
    for (let first = 0; first < MESSAGES; first += 100)
      await dashboard.send(
        ...Array.from({ length: 100 }, (_, index) => ({
          type: "track",
          messageId: `m-${first + index}`,
          userId: `user-${first + index}`,
          event: "Counted",
        })),
      );
    watched = await openPage(browser);
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** The user of the first visible row. */
  const topRow = () =>
    page.getByRole("listbox").evaluate((list) => {
      const { top } = list.getBoundingClientRect();
      const rows = [...list.querySelectorAll('[role="option"]')];
      const first = rows.find((row) => row.getBoundingClientRect().bottom > top + 1);
      return first?.querySelector(".log-user")?.textContent ?? "";
    });
  const list = () => page.getByRole("listbox", { name: "Messages, newest first" });

  test("returns to the first visible row of the live list, beyond the first page and after new messages", async () => {
    await page.goto(`${dashboard.url}/live`);
    await list().waitFor();
    const seen = async (user: number) => {
      await list().evaluate((element) => element.scrollBy({ top: 2_000 }));
      // No row is visible until the rows are drawn.
      const [, number] = /^user-(\d+)$/.exec(await topRow()) ?? [];
      return number !== undefined && Number(number) <= user;
    };
    // Scrolling loads older rows.
    await expect.poll(() => seen(250)).toBe(true);
    await expect.poll(topRow).toMatch(/^user-/);
    const row = await topRow();
    await page.getByRole("option").filter({ hasText: row }).first().dblclick();
    await page.getByRole("heading", { level: 1 }).filter({ hasText: "Counted" }).waitFor();
    await dashboard.send(
      ...Array.from({ length: 30 }, (_, index) => ({
        type: "track",
        userId: `late-${index}`,
        event: "Late",
      })),
    );
    await page.goBack();
    await expect.poll(topRow).toBe(row);
    // A link opens the list at the top.
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("link", { name: "Live" }).first().click();
    await expect.poll(topRow).toMatch(/^late-/);
  });

  test("returns to the position in a long page; a link opens a page at its top", async () => {
    await page.goto(`${dashboard.url}/deliveries?state=delivered`);
    await page.getByRole("row").nth(40).waitFor();
    await page.evaluate(() => scrollTo(0, 900));
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(900);
    // A click on a row that is out of sight would scroll first.
    const inSight = await page
      .getByRole("row")
      .evaluateAll((rows) => rows.findIndex((row) => row.getBoundingClientRect().top > innerHeight / 2));
    await page.getByRole("row").nth(inSight).getByRole("link").first().click();
    await page.waitForURL(/\/messages\//);
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    await page.getByRole("row").nth(40).waitFor();
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(900);
    await page.goForward();
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    expect(watched.problems).toEqual([]);
  });
});
