import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

interface Made {
  readonly id: string;
}

describeInBrowser("the form of an audience", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    await dashboard.send(
      { type: "track", userId: "u", event: "Order Completed" },
      { type: "track", userId: "u", event: "Order Refunded" },
    );
    watched = await openPage(browser);
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const audiences = async () => (await dashboard.api<{ items: readonly Made[] }>("GET", "/audiences")).items;

  test("Enter in a field does not save", async () => {
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/audiences")) asked.push(request.url());
    });
    await page.goto(`${dashboard.url}/audiences/new`);
    await page.getByRole("textbox", { name: "Name" }).fill("Shoppers");
    await page.keyboard.press("Enter");
    const event = page.getByRole("combobox", { name: "Event", exact: true });
    await event.pressSequentially("Ord");
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("spinbutton", { name: "Times" }).press("Enter");
    // The button works from the keyboard, so an earlier save would have worked too.
    await event.fill("Order Completed");
    await page.getByRole("button", { name: "Create audience" }).press("Enter");
    await page.getByRole("heading", { name: "Shoppers" }).waitFor();
    await page.getByText("Did “Order Completed” at least once").waitFor();
    expect(asked).toHaveLength(1);
    expect(await audiences()).toHaveLength(1);
  });

  test("a name that is taken links to its definition", async () => {
    const [first] = await audiences();
    await page.goto(`${dashboard.url}/audiences/new`);
    await page.getByRole("textbox", { name: "Name" }).fill("shoppers");
    await page.getByRole("combobox", { name: "Event", exact: true }).fill("Order Refunded");
    await page.getByRole("button", { name: "Create audience" }).click();
    const failure = page.getByRole("alert");
    await failure.getByText("The trait shoppers already exists").waitFor();
    const link = failure.getByRole("link", { name: "Shoppers" });
    await link.waitFor();
    expect(await failure.innerText()).not.toContain(first?.id);
    await link.click();
    await page.getByRole("heading", { level: 1, name: "Shoppers" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/audiences/${first?.id}`);
  });

  test("an audience that another one depends on is kept, and the other is named", async () => {
    const [first] = await audiences();
    await dashboard.api("POST", "/audiences", {
      name: "Not shoppers",
      condition: { kind: "not", condition: { kind: "audience", audienceId: first?.id } },
    });
    await page.goto(`${dashboard.url}/audiences/${first?.id}`);
    await page.getByRole("button", { name: "Delete audience" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete audience" }).click();
    const failure = page.getByRole("alert");
    await failure.getByText("Other audiences depend on it").waitFor();
    await failure.getByRole("link", { name: "Not shoppers" }).waitFor();
    expect(watched.problems).toEqual([]);
  });
});
