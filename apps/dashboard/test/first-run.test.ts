import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("from the first start to a replayed webhook", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true });
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  test("the whole path", async () => {
    const { page } = watched;
    const { receiver } = dashboard;

    // The URL that `sluice dev` prints signs in, and the token is removed from it.
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Waiting for the first message" }).waitFor();
    expect(page.url()).toBe(`${dashboard.url}/`);

    // The shown snippet works unchanged.
    await page.getByRole("tab", { name: "curl" }).click();
    const curl = await page.getByRole("region", { name: "curl snippet" }).innerText();
    expect(curl).toContain(`-u ${dashboard.writeKey}:`);
    const body = /-d '(.*)'$/s.exec(curl)?.[1] ?? "";

    // The guides need no internet.
    await page.getByRole("link", { name: "quickstarts" }).click();
    await page.getByRole("heading", { name: "Quickstarts", level: 1 }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "All guides" }).click();
    await page.getByRole("heading", { name: "Sluice", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Dashboard", exact: true }).click();
    await page.getByRole("heading", { name: "Waiting for the first message" }).waitFor();

    // A button sends a test event, and the page then offers to connect a webhook.
    await page.getByRole("button", { name: "Send a test event" }).click();
    await page.getByText("No destinations yet").waitFor();
    await page.getByRole("link", { name: "Connect a webhook" }).waitFor();
    await page.goto(`${dashboard.url}/live`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("option", { name: /Test Event.*sentFrom: "?dashboard/ }).waitFor();
    await dashboard.send({ type: "track", messageId: "first", ...(JSON.parse(body) as object) });
    const row = page.getByRole("option", { name: /Signed Up/ });
    await row.waitFor();
    expect(await row.innerText()).toContain("Stored");

    // Connecting takes a URL, a secret and one press. The test is sent automatically.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Command" }).fill("connect web");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "URL 1" }).fill(`${receiver.url}/hook`);
    await page.getByRole("button", { name: "Generate" }).click();
    await page.getByRole("button", { name: "Connect and send a test" }).click();
    const testCard = page.getByRole("region", { name: "Test" });
    await testCard.getByText("Delivered", { exact: true }).waitFor();
    expect(receiver.received.at(-1)?.headers["x-signature"]).toMatch(/^[0-9a-f]{40}$/);

    // A message is delivered, and its page shows how.
    await dashboard.send({ type: "track", messageId: "good", userId: "u1", event: "Order Completed" });
    await page.goto(`${dashboard.url}/messages/good`);
    const stored = page.getByRole("list", { name: "Until it was stored, oldest first" });
    const timeline = page.getByRole("list", { name: "Webhooks, oldest first" });
    await timeline.getByText("Delivered", { exact: true }).waitFor();
    expect(await stored.innerText()).toMatch(/Received[\s\S]*Stored/);
    expect(await timeline.innerText()).toMatch(/Attempt 1[\s\S]*200[\s\S]*Delivered/);

    // The receiver fails permanently: the message fails, and the response is shown as text.
    receiver.answer("/hook", 404, "<b>gone fishing</b>");
    await dashboard.send({ type: "track", messageId: "bad", userId: "u1", event: "Order Refunded" });
    await page.goto(`${dashboard.url}/messages/bad`);
    await timeline.getByText("Failed", { exact: true }).waitFor();
    await timeline.getByText("Request and response").click();
    await timeline.getByText("<b>gone fishing</b>").waitFor();

    // Fixed, it is replayed: counted first, then sent with the same message id.
    receiver.answer("/hook", 200);
    const before = receiver.received.length;
    await page.goto(`${dashboard.url}/deliveries?state=failed`);
    await page.getByRole("link", { name: "bad" }).waitFor();
    await page.getByRole("button", { name: "Replay messages" }).click();
    await page.getByRole("button", { name: "Count messages" }).click();
    await page.getByText("1 message will be sent again.").waitFor();
    expect(receiver.received.length).toBe(before);
    await page.getByRole("button", { name: "Replay 1 message" }).click();
    // The row keeps its place and shows what came of it.
    await page.getByRole("row", { name: /bad/ }).getByText("Delivered", { exact: true }).waitFor();
    expect(receiver.received.at(-1)?.headers["x-message-id"]).toBe("bad");
    await page.goto(`${dashboard.url}/messages/bad`);
    await timeline.getByText("Delivered", { exact: true }).waitFor();
    await timeline.getByText("started by hand").first().waitFor();
  });
});
