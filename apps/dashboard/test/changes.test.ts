import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("changes by users", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  let destinationId: string;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    dashboard.receiver.answer("/hook", 404);
    const destination = await dashboard.api<{ id: string }>("POST", "/destinations", {
      type: "webhooks",
      name: "Warehouse",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/hook` }], sharedSecret: "first secret" },
    });
    destinationId = destination.id;
    watched = await openPage(browser);
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const statusWith = async (writeKey: string): Promise<number> => {
    const response = await fetch(`${dashboard.url}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({ userId: "u", event: "Key Tried" }),
    });
    await response.body?.cancel();
    return response.status;
  };

  test("rotates a write key: both work, then the old one is removed", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    const keys = page.getByRole("region", { name: "Write keys" });
    await keys.getByRole("button", { name: "New key" }).click();
    await keys.getByRole("listitem").nth(1).waitFor();
    const [oldKey = "", newKey = ""] = await keys.getByRole("code").allInnerTexts();
    expect(oldKey).toBe(dashboard.writeKey);
    expect(await page.getByRole("region", { name: "Node snippet" }).innerText()).toContain(newKey);
    await expect.poll(() => statusWith(newKey)).toBe(200);
    expect(await statusWith(oldKey)).toBe(200);
    await keys.getByRole("button", { name: "Remove this write key" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove key" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await expect.poll(() => statusWith(oldKey)).toBe(401);
    expect(await statusWith(newKey)).toBe(200);
    // The tests below use the remaining key.
    Object.assign(dashboard, { writeKey: newKey });
  });

  const send = async (message: object): Promise<void> => {
    const response = await fetch(`${dashboard.url}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${dashboard.writeKey}:`)}` },
      body: JSON.stringify({ batch: [message] }),
    });
    expect(response.status).toBe(200);
  };

  test("blocks and unblocks an event", async () => {
    const blocked = async () =>
      (await dashboard.api<{ blockedEvents: string[] }>("GET", `/sources/${dashboard.sourceId}`))
        .blockedEvents;
    await page.getByRole("textbox", { name: "Event to block" }).fill("Mouse Moved");
    await page.getByRole("button", { name: "Block" }).click();
    const release = page.getByRole("button", { name: "Unblock Mouse Moved" });
    await release.waitFor();
    expect(await blocked()).toEqual(["Mouse Moved"]);
    await release.click();
    await release.waitFor({ state: "detached" });
    expect(await blocked()).toEqual([]);
  });

  test("retries a failed delivery from its row", async () => {
    await send({ type: "track", messageId: "again", userId: "u", event: "Order Completed" });
    await page.goto(`${dashboard.url}/deliveries?state=failed`);
    const row = page.getByRole("row", { name: /again/ });
    await row.waitFor();
    await row.getByRole("button", { name: "attempts, show them" }).click();
    await page.getByRole("dialog").getByText("404", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    dashboard.receiver.answer("/hook", 200);
    await row.getByRole("button", { name: "Retry" }).click();
    // The row keeps its place, so that nothing moves under the pointer.
    await row.getByText("Delivered", { exact: true }).waitFor();
    expect(dashboard.receiver.received.at(-1)?.headers["x-message-id"]).toBe("again");
  });

  test("changes a destination's URL, keeps the secret, and shows an invalid URL at its field", async () => {
    await page.goto(`${dashboard.url}/destinations/${destinationId}?tab=settings`);
    const url = page.getByRole("textbox", { name: "URL 1" });
    await url.fill("not a url");
    await page.getByRole("button", { name: "Save" }).click();
    await page
      .getByText(/full URL is required/)
      .first()
      .waitFor();
    expect(await url.getAttribute("aria-invalid")).toBe("true");
    await url.fill(`${dashboard.receiver.url}/other`);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByRole("region", { name: "Test" }).getByText("Delivered", { exact: true }).waitFor();
    const last = dashboard.receiver.received.at(-1);
    expect(last?.path).toBe("/other");
    expect(last?.headers["x-signature"]).toMatch(/^[0-9a-f]{40}$/);
  });

  test("creates, edits and moves a filter rule; dropped messages are filtered", async () => {
    const filters = async () =>
      (await dashboard.api<{ filters: unknown[] }>("GET", `/destinations/${destinationId}`)).filters;
    const card = page.getByRole("region", { name: "Filter" });
    const dialog = page.getByRole("dialog");
    await card.getByRole("button", { name: "New rule" }).click();
    await dialog.getByRole("checkbox", { name: "track" }).check();
    await dialog.getByRole("textbox", { name: "Track events" }).fill("Order Completed\nCart Viewed");
    await dialog.getByRole("button", { name: "Condition" }).click();
    await dialog.getByRole("button", { name: "Add rule" }).click();
    await dialog.getByText("Enter a field and a value").waitFor();
    await dialog.getByRole("textbox", { name: "Field" }).fill("properties.total");
    await dialog.getByRole("combobox", { name: "Comparison" }).selectOption("less");
    await dialog.getByRole("textbox", { name: "Value" }).fill("5");
    await dialog.getByRole("button", { name: "Add rule" }).click();
    await card
      .getByText("Drop track “Order Completed”, “Cart Viewed” where properties.total is less than 5")
      .waitFor();
    expect(await filters()).toEqual([
      {
        kinds: ["track"],
        events: ["Order Completed", "Cart Viewed"],
        where: [{ path: "properties.total", is: "less", value: 5 }],
        action: { kind: "drop" },
      },
    ]);

    await card.getByRole("button", { name: "New rule" }).click();
    await dialog.getByRole("combobox", { name: "Action" }).selectOption("remove");
    await dialog.getByRole("textbox", { name: "Fields" }).fill("context.ip");
    await dialog.getByRole("button", { name: "Add rule" }).click();
    await card.getByRole("button", { name: "Rule 2" }).click();
    await page.getByRole("menuitem", { name: "Move up" }).click();
    await expect.poll(filters).toMatchObject([{ action: { kind: "remove", paths: ["context.ip"] } }, {}]);
    await card.getByRole("listitem").first().getByText("Remove context.ip").waitFor();
    await card.getByRole("button", { name: /Drop track/ }).click();
    await dialog.getByRole("textbox", { name: "Value" }).fill("7");
    await dialog.getByRole("button", { name: "Save rule" }).click();
    await card.getByText(/is less than 7/).waitFor();

    for (const [messageId, total] of [
      ["dropped", 6],
      ["kept", 8],
    ])
      await send({ type: "track", messageId, userId: "u", event: "Cart Viewed", properties: { total } });
    const timeline = page.getByRole("list", { name: "Warehouse, oldest first" });
    await page.goto(`${dashboard.url}/messages/dropped`);
    await timeline.getByText("Filtered", { exact: true }).waitFor();
    await page.goto(`${dashboard.url}/messages/kept`);
    await timeline.getByText("Delivered", { exact: true }).waitFor();
  });

  test("arrow keys move in a menu; Escape closes it and returns the focus", async () => {
    await page.goto(`${dashboard.url}/destinations/${destinationId}?tab=settings`);
    const button = page.getByRole("button", { name: "Rule 1" });
    await button.focus();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("menuitem", { name: "Edit" }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe("Edit");
    await page.keyboard.press("ArrowDown");
    await expect.poll(focused).toBe("Move down");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await expect.poll(focused).toBe("Remove");
    await page.keyboard.press("Escape");
    await page.getByRole("menuitem", { name: "Edit" }).waitFor({ state: "hidden" });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test("sets and removes a source's rate limit", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    const settings = page.getByRole("region", { name: "Settings" });
    const limit = async () =>
      (await dashboard.api<{ rateLimit?: number }>("GET", `/sources/${dashboard.sourceId}`)).rateLimit;
    await settings.getByRole("spinbutton", { name: "Rate limit" }).fill("2500.5");
    await settings.getByRole("button", { name: "Save" }).click();
    await expect.poll(limit).toBe(2500.5);
    // The form now starts from the saved version.
    await expect.poll(() => settings.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await settings.getByRole("spinbutton", { name: "Rate limit" }).fill("");
    await settings.getByRole("button", { name: "Save" }).click();
    await expect.poll(limit).toBeUndefined();
  });

  test("the overview shows a disabled destination", async () => {
    await page.goto(`${dashboard.url}/destinations/${destinationId}?tab=settings`);
    await page.getByRole("switch", { name: "Enabled" }).click();
    await page.getByRole("switch", { name: "Disabled" }).waitFor();
    await page.goto(`${dashboard.url}/`);
    await page.getByRole("row", { name: /^Warehouse Disabled/ }).waitFor();
    await page.getByRole("link", { name: "Warehouse" }).first().click();
    await page.getByRole("switch", { name: "Disabled" }).click();
    await page.getByRole("switch", { name: "Enabled" }).waitFor();
  });

  test("a new read-only token is shown once; revoking it ends its session", async () => {
    await page.goto(`${dashboard.url}/settings`);
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Wall");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const token = await page.getByRole("region", { name: "The new token" }).innerText();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: /Wall/ }).getByText("Read only").waitFor();

    const other = await openPage(browser, { isPollingFaster: true });
    await other.page.goto(`${dashboard.url}/sources#token=${token.trim()}`);
    await other.page.getByRole("button", { name: "New source" }).click();
    await other.page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("No");
    await other.page.getByRole("dialog").getByRole("button", { name: "Create source" }).click();
    await other.page.getByText("This token is read-only", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Revoke Wall" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke token" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await other.page.getByText("The token is not valid. Sign in again.").waitFor();
    await other.context.close();
  });

  test("the filter finds matches and reports syntax errors", async () => {
    await send({
      type: "track",
      messageId: "f1",
      userId: "42",
      event: "Signed Up",
      properties: { plan: "pro" },
    });
    await send({
      type: "track",
      messageId: "f2",
      userId: "43",
      event: "Signed Up",
      properties: { plan: "free" },
    });
    await send({ type: "track", messageId: "f3", userId: "44" });
    await page.goto(`${dashboard.url}/live`);
    const field = page.getByRole("searchbox", { name: "Filter" });
    const rows = page.getByRole("option");
    await field.fill('type:track event:"Signed Up" -properties.plan:free');
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().innerText()).toContain("42");
    expect(new URL(page.url()).searchParams.get("q")).toBe(
      'type:track event:"Signed Up" -properties.plan:free',
    );
    await field.fill("outcome:rejected");
    await expect
      .poll(async () => (await rows.count()) === 1 && (await rows.first().innerText()))
      .toContain("Rejected");
    await field.fill("plan:pro");
    await page.getByText("plan is not a field.").waitFor();
    await field.fill("user:42");
    await page.getByRole("option", { name: /Signed Up.*\s42/ }).click();
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name: "curl" }).click();
    await page.getByText("Copied as curl").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`-u '${dashboard.writeKey}:'`);
    expect(copied).toContain('"event":"Signed Up"');
    expect(watched.problems).toEqual([]);
  });
});
