import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("words and counts", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    await dashboard.api("POST", "/destinations", {
      name: "shop",
      type: "webhooks",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/shop` }] },
    });
    dashboard.receiver.answer("/shop", 400);
    await dashboard.send({ type: "track", messageId: "one", userId: "u", event: "Order Completed" });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser);
    await watched.page.goto(dashboard.signInUrl);
    await watched.page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterEach(() => watched.context.close());

  test.each(["/sources", "/destinations"])(
    "%s does not say that there was nothing before it knows",
    async (address) => {
      const { page } = watched;
      await page.route("**/api/v1/activity*", () => {});
      await page.goto(`${dashboard.url}${address}`);
      await page.getByRole("table").getByText("…").first().waitFor();
      expect(await page.getByText("None yet").count()).toBe(0);
    },
  );

  test("the live page counts no messages before it has read them", async () => {
    const { page } = watched;
    await page.route("**/api/v1/messages*", () => {});
    await page.goto(`${dashboard.url}/live`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await page.getByText("0 messages").count()).toBe(0);
  });

  test("Select all counts the rows of a list that is loaded whole, not causes that are older", async () => {
    const { page } = watched;
    await page.route("**/api/v1/delivery-groups*", async (route) => {
      const answer = await route.fetch();
      const { items } = (await answer.json()) as { items: { failed: number }[] };
      await route.fulfill({
        response: answer,
        json: { items: items.map((one) => ({ ...one, failed: one.failed + 1 })) },
      });
    });
    await page.goto(`${dashboard.url}/deliveries?state=failed`);
    await page
      .getByRole("row", { name: /Order Completed|one/ })
      .getByRole("checkbox")
      .check();
    await page.getByRole("button", { name: "Select all 1 that match" }).waitFor();
  });

  test("destinations that are disabled on purpose do not need attention", async () => {
    const { page } = watched;
    for (const name of ["a", "b", "c", "d", "e"])
      await dashboard.api("POST", "/destinations", {
        name,
        type: "webhooks",
        enabled: false,
        sourceIds: [dashboard.sourceId],
        settings: { webhooks: [{ url: `${dashboard.receiver.url}/${name}` }] },
      });
    await page.goto(dashboard.url);
    await page.getByText(/^\d disabled destinations$/).waitFor();
    expect(await page.getByText(/more destinations? needs? attention/).count()).toBe(0);
  });
});
