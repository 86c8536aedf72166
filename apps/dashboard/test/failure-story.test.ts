import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ALL_RULES, COLOR_RULES, switchTransitionsOff, violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const ORDERS = 30;

describeInBrowser("the story of a failure", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  let destinationId = "";

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    const { receiver, sourceId, api } = dashboard;
    receiver.answer("/hook", 404, "no such hook");
    const create = (name: string, path: string) =>
      api<{ id: string }>("POST", "/destinations", {
        type: "webhooks",
        name,
        sourceIds: [sourceId],
        settings: { webhooks: [{ url: `${receiver.url}${path}` }] },
      });
    destinationId = (await create("Warehouse", "/hook")).id;
    await create("Analytics", "/good");
    await order(0, ORDERS);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return () => watched.context.close();
  });

  async function order(from: number, to: number): Promise<void> {
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    await dashboard.send(
      ...numbers.map((n) => ({
        type: "track",
        messageId: `o${n}`,
        userId: `user-${n}`,
        event: "Order Completed",
      })),
    );
    const last = `/wait?messageId=o${to - 1}&destinationId=${destinationId}&timeoutMs=60000`;
    await dashboard.api("GET", `${last}&state=failed`);
  }

  const rows = () => page.getByRole("table", { name: "Deliveries, newest first" }).getByRole("row");

  test("break, group, fix, retry all, verify", async () => {
    await page.goto(`${dashboard.url}/deliveries`);
    // The cause leads to its messages, with an example and advice.
    await page.getByRole("link", { name: "404 Not Found" }).click();
    await page.getByText("What to do:").waitFor();
    await page.getByText("Correct the destination's URL, then retry.").waitFor();
    await page.getByText("Request and response").first().click();
    await page.getByText("no such hook").first().waitFor();
    await page.getByText("user-29", { exact: true }).waitFor();
    expect(await rows().count()).toBe(ORDERS + 1);

    // Rows stay where they are: new ones are announced, and shown on a click.
    const first = (): Promise<string> => rows().nth(1).getByRole("link").first().innerText();
    const before = await first();
    await order(ORDERS, ORDERS + 2);
    await page.getByRole("button", { name: "2 new deliveries" }).waitFor();
    expect(await first()).toBe(before);
    await page.getByRole("button", { name: "2 new deliveries" }).click();
    await page.getByText("user-31", { exact: true }).waitFor();

    // One retry that fails again says so.
    await rows().nth(1).getByRole("button", { name: "Retry" }).click();
    await page.getByText("Failed again: 404 Not Found").waitFor();

    // Fixed.
    dashboard.receiver.answer("/hook", 200);
    await rows().nth(1).getByRole("checkbox").check();
    const bar = page.getByRole("region", { name: "Selected deliveries" });
    await bar.getByText("1 delivery selected").waitFor();
    await bar.getByRole("button", { name: `Select all ${ORDERS + 2} that match` }).click();
    await bar.getByRole("button", { name: "Retry" }).click();
    const operations = page.getByRole("region", { name: "Operations" });
    await operations.getByText(`Retry of ${ORDERS + 2} deliveries`).waitFor();
    await operations.getByText(`${ORDERS + 2} delivered`).waitFor();

    // The rows keep their places and say what became of them. The group is gone.
    await page.getByRole("link", { name: "404 Not Found" }).waitFor({ state: "detached" });
    await rows().nth(1).getByText("Delivered").waitFor();
    await page.reload();
    await page.getByText("No deliveries match").waitFor();
    const sent = dashboard.receiver.received.filter(({ path }) => path === "/hook").length;
    // Each once when it failed and once when it was retried, and one retry by hand.
    expect(sent).toBe(2 * (ORDERS + 2) + 1);
    expect(watched.problems).toEqual([]);
  });

  test("discard what will never be accepted, with the keyboard, and see by whom", async () => {
    dashboard.receiver.answer("/hook", 400, "unknown field");
    await order(100, 103);
    await page.goto(`${dashboard.url}/deliveries?destination=${destinationId}&cause=http_400`);
    await page.getByRole("checkbox", { name: "Select all rows" }).focus();
    await page.keyboard.press("Space");
    const discard = page.getByRole("button", { name: "Discard" });
    await discard.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Discard 3 deliveries?").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByRole("region", { name: "Operations" }).getByText("3 discarded").waitFor();
    await page.goto(`${dashboard.url}/messages/o100`);
    await page.getByText("Discarded", { exact: true }).first().waitFor();
    await page
      .getByText(/discarded by /)
      .first()
      .waitFor();
    expect(watched.problems).toEqual([]);
  });

  // One page for all: a width changes what is where, a theme only the colours.
  test("has no accessibility problems with a selection, in any width and theme", async () => {
    dashboard.receiver.answer("/hook", 401, "who are you?");
    await order(200, 203);
    await page.goto(`${dashboard.url}/deliveries?destination=${destinationId}&cause=http_401`);
    await page.getByText("What to do:").waitFor();
    await rows().nth(1).getByRole("checkbox").check();
    await page.getByRole("region", { name: "Selected deliveries" }).waitFor();
    await switchTransitionsOff(page);
    for (const width of [360, 768, 1_440]) {
      await page.setViewportSize({ width, height: 900 });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `${width} px`).toBeLessThanOrEqual(0);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const found = await violations(page, colorScheme === "light" ? ALL_RULES : COLOR_RULES);
        expect(found, `${width} px, ${colorScheme}`).toEqual([]);
      }
    }
  });
});
