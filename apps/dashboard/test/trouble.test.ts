import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("while a page is open", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    await dashboard.send(
      { type: "track", messageId: "one", userId: "u", event: "Order Completed" },
      { type: "page", messageId: "two", userId: "u", name: "Pricing" },
    );
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true });
  });
  afterEach(() => watched.context.close());

  test("shows that the collector cannot be reached, and new messages once it is back", async () => {
    const { page } = watched;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.goto(`${dashboard.url}/live`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("option", { name: /Order Completed/ }).waitFor();
    await dashboard.stop();
    await page.getByRole("alert").getByText("The collector cannot be reached").waitFor();
    await page.getByText("Reconnecting", { exact: true }).waitFor();
    // Loaded rows stay.
    expect(await page.getByRole("option", { name: /Order Completed/ }).count()).toBe(1);
    await dashboard.start();
    await page.getByText("Connected to the collector again").waitFor();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByText("Live", { exact: true }).waitFor();
    await dashboard.send({ type: "track", userId: "u", event: "After The Restart" });
    await page.getByRole("option", { name: /After The Restart/ }).waitFor();
  });

  test("a revoked token ends the session and keeps the address", async () => {
    const { page, problems } = watched;
    const { id, token } = await dashboard.api<{ id: string; token: string }>("POST", "/tokens", {
      name: "short",
      access: "read",
    });
    await page.goto(`${dashboard.url}/destinations#token=${token}`);
    await page.getByRole("heading", { name: "Destinations", level: 1 }).waitFor();
    await page.goto(`${dashboard.url}/live?q=type%3Atrack`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Audiences" }).click();
    await page.getByRole("heading", { name: "Audiences", level: 1 }).waitFor();
    await dashboard.api("DELETE", `/tokens/${id}`);
    await page.getByText("The token is not valid. Sign in again.").waitFor();
    expect(new URL(page.url()).pathname).toBe("/audiences");
    await page.getByLabel("Admin token").fill(dashboard.adminToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Audiences", level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });

  test("Back and Forward keep filters, and an address with a filter opens with it", async () => {
    const { page, problems } = watched;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.goto(`${dashboard.url}/live?q=type%3Atrack%20user%3Au`);
    const field = page.getByRole("searchbox", { name: "Filter" });
    expect(await field.inputValue()).toBe("type:track user:u");
    await page.getByRole("option", { name: /Order Completed/ }).waitFor();
    expect(await page.getByRole("option", { name: /Pricing/ }).count()).toBe(0);
    await page.getByRole("option", { name: /Order Completed/ }).dblclick();
    await page.getByRole("heading", { name: "Order Completed" }).waitFor();
    await page.goBack();
    await page.getByRole("option", { name: /Order Completed/ }).waitFor();
    expect(await field.inputValue()).toBe("type:track user:u");
    await page.goForward();
    await page.getByRole("heading", { name: "Order Completed" }).waitFor();

    await page.goto(`${dashboard.url}/deliveries?state=delivered&since=1h&error=timeout`);
    expect(await page.getByRole("combobox", { name: "State" }).inputValue()).toBe("delivered");
    expect(await page.getByRole("combobox", { name: "Since" }).inputValue()).toBe("1h");
    expect(await page.getByRole("searchbox", { name: "Reason contains" }).inputValue()).toBe("timeout");
    await page.getByText("No deliveries match").waitFor();
    expect(problems).toEqual([]);
  });

  test("a browser with a wrong clock uses the collector's time and says so", async () => {
    const { page, problems } = watched;
    await page.addInitScript(() => {
      const now = Date.now;
      Date.now = () => now() + 3_600_000;
    });
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.goto(`${dashboard.url}/settings`);
    await page.getByText(/^(59 min|1 h).* behind this browser's/).waitFor();
    const since = page.getByRole("region", { name: "Collector" });
    // By this browser's clock the collector would have started an hour ago.
    await expect.poll(() => since.innerText()).toMatch(/Started\s+(just now|\d+ s ago|[1-9] min ago)/);
    expect(problems).toEqual([]);
  });
});
