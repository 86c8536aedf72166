import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const DESTINATIONS = 30;
const FAILING = ["d01", "d02", "d03"];

describeInBrowser("with 30 destinations, of which three fail", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    for (let number = 1; number <= DESTINATIONS; number++) {
      const name = `d${String(number).padStart(2, "0")}`;
      const { id } = await dashboard.api<{ id: string }>("POST", "/destinations", {
        name,
        type: "webhooks",
        sourceIds: [dashboard.sourceId],
        settings: { webhooks: [{ url: `${dashboard.receiver.url}/${name}` }] },
      });
      ids.set(name, id);
    }
    for (const name of FAILING) dashboard.receiver.answer(`/${name}`, 400, "unknown field");
    await dashboard.send(
      { type: "identify", messageId: "who", userId: "ada", traits: { plan: "pro" } },
      { type: "track", messageId: "one", userId: "ada", event: "Order Completed", properties: { total: 12 } },
    );
    for (const id of ids.values())
      await dashboard.api("GET", `/wait?messageId=one&destinationId=${id}&timeoutMs=60000`);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true, width: 1_440, height: 900 });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  test("a live row says what differs: properties, and which destinations failed", async () => {
    await page.goto(`${dashboard.url}/live`);
    await page.getByRole("option", { name: /Order Completed total: 12 ada Failed: d0\d \+2/ }).waitFor();
  });

  test("arrow keys move in the list right after g l", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.getByRole("option").first().getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.getByRole("option").nth(1).getAttribute("aria-selected")).toBe("true");
  });

  test("the palette looks an id up and previews what it finds", async () => {
    const labels = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Command" }).fill(text);
      return page.getByRole("dialog").getByRole("option");
    };
    const ofMessage = await labels("one");
    await ofMessage.filter({ hasText: "Message one" }).getByText("Order Completed · Failed 3/30").waitFor();
    expect(await ofMessage.filter({ hasText: "Profile of user" }).count()).toBe(0);
    await page.keyboard.press("Escape");
    const ofUser = await labels("ada");
    await ofUser.filter({ hasText: "Profile of user ada" }).getByText("plan: pro").waitFor();
    expect(await ofUser.filter({ hasText: "Message ada" }).count()).toBe(0);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "ada" }).waitFor();
  });

  test("a message has one row a destination, with its own retry", async () => {
    await page.goto(`${dashboard.url}/messages/one`);
    const row = page.getByRole("region", { name: "d01" });
    await row.getByText("400 Bad Request").waitFor();
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    expect(height).toBeLessThan(1_900);
    dashboard.receiver.answer("/d01", 200);
    await row.getByRole("button", { name: "Retry d01" }).click();
    await page.getByRole("region", { name: "d01" }).getByText("Delivered", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Retry all 2" }).waitFor();
    await page.getByRole("button", { name: "2 attempts: d01" }).click();
    await page.getByRole("list", { name: "d01, oldest first" }).getByText("Attempt 1").first().waitFor();
  });

  test("the list of destinations has one line a row, the worst first, and a filter", async () => {
    await page.goto(`${dashboard.url}/destinations`);
    const rows = page.getByRole("table", { name: "Destinations, the worst first" }).getByRole("row");
    await rows.nth(DESTINATIONS).waitFor();
    expect(await rows.nth(1).innerText()).toContain("Failing");
    for (const row of await rows.all()) expect((await row.boundingBox())?.height).toBeLessThan(50);
    await page.getByRole("searchbox", { name: /contains/ }).fill("/d07");
    await page.getByText("1 of 30").waitFor();
    await rows.filter({ hasText: "d07" }).waitFor();
  });

  test("every page says how many problems there are, and leads to them", async () => {
    await page.goto(`${dashboard.url}/settings`);
    await page.getByRole("link", { name: /^Dev · 1 problem$/ }).click();
    await page
      .getByRole("table", { name: "Problems, the worst first" })
      .getByText(/\(400\)/)
      .waitFor();
  });

  test("a full disk, and what it refused, stay on the overview and the warnings when nothing else can be read", async () => {
    const code = "storage_unavailable";
    const problems = await dashboard.api<object>("GET", "/problems");
    await page.route(/\/api\/v1\/(messages|sources|destinations|health|rejected-messages)\b/, (route) =>
      route.fulfill({ status: 503, json: { success: false, code, message: `${code}: ENOSPC` } }),
    );
    await page.route(/\/api\/v1\/problems/, (route) =>
      route.fulfill({
        json: {
          ...problems,
          storage: { kind: "unavailable", reason: "ENOSPC", since: new Date().toISOString() },
          refusedRequests: [{ code, status: 503, requests: 12 }],
        },
      }),
    );
    await page.goto(dashboard.url);
    const table = page.getByRole("table", { name: "Problems, the worst first" });
    await table.getByText("The collector cannot write to its disk").waitFor();
    await table.getByText(`12 requests refused: 503 ${code}`).waitFor();
    await page.goto(`${dashboard.url}/warnings`);
    await page.getByRole("row", { name: /^storage_unavailable 503 12/ }).waitFor();
    await page.getByRole("alert").getByText("The collector cannot write to its disk").waitFor();
    await page.unrouteAll();
  });

  test("the warnings name fields as code, and a filter that is not valid is told once", async () => {
    await dashboard.send({ type: "track", userId: "ada" });
    await page.goto(`${dashboard.url}/warnings`);
    const row = page
      .getByRole("table", { name: /^Rejected messages/ })
      .getByRole("row", { name: /^event is/ });
    await row.getByRole("code").getByText("event", { exact: true }).waitFor();
    await page.goto(`${dashboard.url}/live?q=${encodeURIComponent("state:failed")}`);
    await page.getByText("is not a field").waitFor();
    await page.getByText("Order Completed").first().waitFor();
    expect(await page.getByText("is not a field").count()).toBe(1);
    expect(await page.locator("main").innerText()).not.toContain("`");
  });

  test("a source that sends shows what it sent before the code to send it", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    await page.getByRole("table", { name: /^Usage/ }).waitFor();
    const headings = await page.getByRole("heading", { level: 2 }).allInnerTexts();
    expect(headings.indexOf("Usage")).toBeLessThan(headings.indexOf("Send messages"));
  });

  const untilFailed = (name: string, count: number) =>
    expect
      .poll(async () => {
        const groups = `/delivery-groups?destinationId=${ids.get(name)}`;
        const { items } = await dashboard.api<{ items: { count: number }[] }>("GET", groups);
        return items.reduce((sum, group) => sum + group.count, 0);
      })
      .toBe(count);

  test("a cause is retried whole from its row, which shows the progress and stops it", async () => {
    const id = ids.get("d02");
    const events = Array.from({ length: 400 }, (_, n) => ({
      type: "track",
      messageId: `many-${n}`,
      userId: `u${n}`,
      event: "Order Completed",
    }));
    await dashboard.send(...events);
    await untilFailed("d02", 402);
    await page.goto(`${dashboard.url}/destinations/${id}?tab=failures`);
    const cause = page.getByRole("row", { name: /^400 Bad Request/ });
    await cause.getByRole("button", { name: "Retry all 402" }).click();
    await cause.getByRole("progressbar", { name: "Retry of 400 Bad Request" }).waitFor();
    await cause.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("region", { name: "Operations" }).getByText("Cancelled").waitFor();
    await cause.getByRole("button", { name: /^Retry all/ }).waitFor();
  });

  test("everything that failed since a time is counted, then retried", async () => {
    await untilFailed("d03", 402);
    await page.goto(`${dashboard.url}/destinations/${ids.get("d03")}?tab=failures`);
    const card = page.getByRole("region", { name: "Recover" });
    await card.getByLabel("Received since").fill("2020-01-01T00:00");
    await card.getByRole("button", { name: "Count messages" }).click();
    await card.getByRole("button", { name: /^Retry \d+ messages$/ }).waitFor();
    dashboard.receiver.answer("/d03", 200);
    await card.getByRole("button", { name: /^Retry \d+ messages$/ }).click();
    await page
      .getByRole("region", { name: "Operations" })
      .getByText(/Retry of \d+ deliveries/)
      .waitFor();
    await untilFailed("d03", 0);
    await page.getByText("No failed or pending deliveries.").waitFor();
  });

  test("what failed at a disabled destination leads to enabling it instead of a retry that would wait", async () => {
    const path = `/destinations/${ids.get("d04")}`;
    dashboard.receiver.answer("/d04", 400, "unknown field");
    await dashboard.send({ type: "track", messageId: "off", userId: "bob", event: "Refund" });
    await dashboard.api(
      "GET",
      `/wait?messageId=off&destinationId=${ids.get("d04")}&state=failed&timeoutMs=60000`,
    );
    await dashboard.api("PATCH", path, { enabled: false });
    await page.goto(`${dashboard.url}/deliveries`);
    const cause = page.getByRole("row", { name: /^400 Bad Request d04/ });
    await cause.getByRole("link", { name: "Enable destination" }).waitFor();
    expect(await cause.getByRole("button").count()).toBe(0);
    await page.goto(`${dashboard.url}/messages/off`);
    await page
      .getByRole("region", { name: "d04" })
      .getByRole("link", { name: "Enable destination" })
      .waitFor();
    await dashboard.api("PATCH", path, { enabled: true });
  });

  test("on a phone, the row of an incident says where it happened", async () => {
    dashboard.receiver.answer("/d05", 410);
    await dashboard.send({ type: "track", messageId: "gone", userId: "eve", event: "Refund" });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${dashboard.url}/live?q=${encodeURIComponent('event:"URL Disabled"')}`);
    const row = page.getByRole("option", { name: /URL Disabled/ });
    await row.getByText(/A URL of d05 is disabled/).waitFor();
  });
});
