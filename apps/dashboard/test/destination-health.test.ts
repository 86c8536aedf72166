import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("destinations that fail", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    const { receiver } = dashboard;
    receiver.answer("/wrong-secret", 401);
    receiver.answer("/gone", 410);
    for (const [name, path] of [
      ["Orders", "/wrong-secret"],
      ["Archive", "/gone"],
      ["Warehouse", "/good"],
      ["Twins", "/twin /gone"],
    ] as const) {
      const { id } = await dashboard.api<{ id: string }>("POST", "/destinations", {
        type: "webhooks",
        name,
        sourceIds: [dashboard.sourceId],
        settings: { webhooks: path.split(" ").map((one) => ({ url: `${receiver.url}${one}` })) },
      });
      ids.set(name, id);
    }
    await dashboard.send({ type: "track", messageId: "one", userId: "u", event: "Order Completed" });
    watched = await openPage(browser);
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const overview = async () => {
    await page.goto(dashboard.url);
    const problems = page.getByRole("table", { name: "Problems, the worst first" });
    await problems.getByRole("row", { name: /\(401\).*secret.*Orders/ }).waitFor();
    await problems.getByRole("row", { name: /410 Gone, so nothing is sent.*Archive/ }).waitFor();
    await problems.getByRole("row", { name: /1 of 2 URLs answered 410 Gone.*Twins/ }).waitFor();
    // A connection that was lost is an alert, until it is back.
    await expect.poll(() => page.locator(".alert").count()).toBe(0);
    const table = page.getByRole("table", { name: "Destinations, the worst first" });
    await table.getByRole("row", { name: /^Orders Failing .*401/ }).waitFor();
    await table.getByRole("row", { name: /^Archive URL disabled Its URL answered 410 Gone/ }).waitFor();
    await table.getByRole("row", { name: /^Warehouse Delivering/ }).waitFor();
    await table.getByRole("row", { name: /^Twins Partly disabled 1 of 2 URLs answered 410 Gone/ }).waitFor();
  };

  test("are shown on the overview, the list and their pages, also after a restart", async () => {
    await overview();
    await dashboard.stop();
    await dashboard.start();
    await overview();
    await page.goto(`${dashboard.url}/destinations`);
    await page.getByRole("row", { name: /^Orders Failing .*401/ }).waitFor();
    await page.goto(`${dashboard.url}/destinations/${ids.get("Orders")}`);
    await page.getByText(/Failing, began .*401.*secret/).waitFor();
    await page.getByRole("link", { name: "what failed" }).click();
    // Not the causes above the list, such as "410 Gone".
    await page.getByRole("link", { name: / one$/ }).waitFor();
    // The alert leads to the setting that cures it.
    await page.getByRole("link", { name: "Change the secret" }).click();
    await expect
      .poll(() =>
        page.evaluate(() => document.activeElement?.closest("[data-setting]")?.getAttribute("data-setting")),
      )
      .toBe("sharedSecret");
  });

  test("where a retry cannot help, a link leads to what does; a replay is refused with the reason", async () => {
    const refusal = page.getByText(/Nothing can be sent to Archive: all its URLs .*Enable them again/);
    await page.goto(`${dashboard.url}/deliveries`);
    const cause = page.getByRole("row", { name: /^410 Gone Archive/ });
    await cause.getByRole("link", { name: "Enable URL" }).waitFor();
    expect(await cause.getByRole("button").count()).toBe(0);
    await page.goto(`${dashboard.url}/destinations/${ids.get("Archive")}?tab=failures`);
    // Of the cause and of the message.
    await expect.poll(() => page.getByRole("link", { name: "Enable URL" }).count()).toBe(2);
    expect(await page.getByRole("button", { name: /Retry|Count messages/ }).count()).toBe(0);
    // The other destination of the same message is still retried.
    await page.goto(`${dashboard.url}/messages/one`);
    const archive = page.getByRole("region", { name: "Archive" });
    await archive.getByRole("link", { name: "Enable URL" }).waitFor();
    await page.getByRole("button", { name: /^Retry (all \d|now)$/ }).click();
    // "Retrying now" may be replaced at once by what came of it.
    await page
      .getByText(/^(Retrying now|Delivered|Failed again: .*)$/)
      .first()
      .waitFor();
    await page.goto(`${dashboard.url}/deliveries?destination=${ids.get("Archive")}`);
    await page.getByRole("button", { name: "Replay messages" }).click();
    await page.getByRole("button", { name: "Count messages" }).click();
    await refusal.waitFor();
    await page.keyboard.press("Escape");
  });

  test("a button enables a URL that answered 410", async () => {
    await page.goto(`${dashboard.url}/destinations/${ids.get("Archive")}?tab=settings`);
    await page.getByText("Disabled until saved:").waitFor();
    dashboard.receiver.answer("/gone", 200);
    await page.getByRole("button", { name: "Enable again" }).click();
    await page.getByText("Enabled: messages are sent to all URLs again").waitFor();
    await page.getByText("Disabled until saved:").waitFor({ state: "detached" });
    expect(await page.getByText("This was changed while you were editing").count()).toBe(0);
    await dashboard.send({ type: "track", messageId: "two", userId: "u", event: "Order Completed" });
    await page.locator(".page-head").getByText("Delivering", { exact: true }).waitFor();
    await page.locator(".alert").waitFor({ state: "detached" });
  });

  test("the address of a new destination redirects to the catalog", async () => {
    await page.goto(`${dashboard.url}/destinations/new`);
    await page.getByRole("heading", { level: 1, name: "Catalog" }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe("/catalog");
    expect(watched.problems).toEqual([]);
  });
});
