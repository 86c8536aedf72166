import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describeInBrowser("audiences, computed traits and deletions", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    await dashboard.api("POST", "/destinations", {
      type: "webhooks",
      name: "Warehouse",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/hook` }] },
    });
    await dashboard.send(
      { type: "identify", userId: "ada", traits: { plan: "pro" } },
      { type: "identify", userId: "bob", traits: { plan: "free" } },
      {
        type: "track",
        messageId: "ada-1",
        userId: "ada",
        event: "Order Completed",
        properties: { total: 40 },
      },
      {
        type: "track",
        messageId: "bob-1",
        userId: "bob",
        event: "Order Completed",
        properties: { total: 60 },
      },
      {
        type: "track",
        messageId: "bob-2",
        userId: "bob",
        event: "Order Completed",
        properties: { total: 5 },
      },
    );
    watched = await openPage(browser, { width: 1_280, height: 900, isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  test("builds an audience with a live preview, lists its members and explains them", async () => {
    await page.goto(`${dashboard.url}/audiences/new`);
    const preview = page.getByRole("region", { name: "Preview" });
    await page.getByRole("textbox", { name: "Name" }).fill("Big pro spenders");
    await page.getByText("big_pro_spenders").waitFor();
    await page.getByRole("combobox", { name: "Event", exact: true }).fill("Order Completed");
    await preview.getByText("100 % of 2 profiles").waitFor();
    await page.getByRole("button", { name: "Add a property filter" }).click();
    await page.getByRole("combobox", { name: "Property" }).fill("total");
    await page.getByRole("combobox", { name: "Comparison" }).selectOption("greater");
    await page.getByRole("textbox", { name: "Value" }).fill("50");
    await preview.getByText("50 % of 2 profiles").waitFor();
    await preview.getByRole("link", { name: "bob" }).waitFor();
    await page.getByRole("textbox", { name: "Value" }).fill("10");
    await page.getByRole("button", { name: "Trait", exact: true }).click();
    await preview.getByText("Complete the conditions").waitFor();
    await page.getByRole("textbox", { name: "Trait" }).fill("plan");
    await page.getByRole("textbox", { name: "Value" }).last().fill("pro");
    await preview.getByRole("link", { name: "ada" }).waitFor();
    await page.getByRole("checkbox", { name: "Warehouse" }).check();
    await page.getByRole("button", { name: "Create audience" }).click();

    await page.getByRole("heading", { name: "Big pro spenders" }).waitFor();
    await page.getByRole("region", { name: "Conditions" }).getByText("Trait plan is pro").waitFor();
    const members = page.getByRole("table", { name: "Members, longest-known users first" });
    await members.getByText("ada").waitFor();
    expect(await members.getByRole("row").count()).toBe(2);
    await members.getByRole("button", { name: "Why?" }).click();
    await members.getByText("Member", { exact: true }).waitFor();
    expect(await members.innerText()).toMatch(/Did “Order Completed” at least once[\s\S]*seen 1 time/);
    await members.getByRole("button", { name: "Why?" }).click();
    expect(await members.getByText("Member", { exact: true }).count()).toBe(0);
    const why = page.getByRole("region", { name: "Explain membership" });
    await why.getByRole("textbox", { name: "User id" }).fill("bob");
    await why.getByRole("button", { name: "Explain" }).click();
    await why.getByText("Not a member", { exact: true }).waitFor();
    await why.getByText("actual value: free").waitFor();
    await expect
      .poll(() => dashboard.receiver.received.some(({ body }) => body.includes('"big_pro_spenders":true')))
      .toBe(true);
  });

  test("an edited audience keeps its conditions and changes its members", async () => {
    await page.goto(`${dashboard.url}/audiences`);
    await page.getByRole("link", { name: "Big pro spenders" }).click();
    await page.getByRole("link", { name: "Edit" }).click();
    expect(await page.getByRole("textbox", { name: "Value" }).last().inputValue()).toBe("pro");
    await page.getByRole("textbox", { name: "Value" }).last().fill("free");
    await page.getByRole("region", { name: "Preview" }).getByRole("link", { name: "bob" }).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("table", { name: "Members, longest-known users first" }).getByText("bob").waitFor();
  });

  test("shows an incomplete condition at its place", async () => {
    await page.goto(`${dashboard.url}/audiences/new`);
    await page.getByRole("textbox", { name: "Name" }).fill("Nobody");
    await page.getByRole("button", { name: "Create audience" }).click();
    await page.getByText("It must be a text of 1 to 1,000 characters").waitFor();
    expect(page.url()).toBe(`${dashboard.url}/audiences/new`);
  });

  test("creates a computed trait, which is in the profile", async () => {
    await page.goto(`${dashboard.url}/computed-traits`);
    await page.getByRole("button", { name: "New computed trait" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("Lifetime value");
    await dialog.getByRole("combobox", { name: "Value" }).selectOption("sum");
    await dialog.getByRole("combobox", { name: "Property" }).fill("total");
    await dialog.getByRole("combobox", { name: "Event" }).fill("Order Completed");
    // Before it is created: the preview.
    const preview = dialog.getByRole("region", { name: "Preview" });
    await preview.getByText("of 2 profiles would have a value now").waitFor();
    await preview.getByText("65", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Create computed trait" }).click();
    await page.getByText("Sum of total over “Order Completed”").waitFor();
    await page.goto(`${dashboard.url}/profiles/bob`);
    const computed = page.getByRole("region", { name: "Computed traits" });
    await computed.getByText("lifetime_value").waitFor();
    await computed.getByText("65").waitFor();

    // Its page: the values, an explanation, and editing.
    await page.goto(`${dashboard.url}/computed-traits`);
    await page.getByRole("link", { name: "Lifetime value" }).click();
    const values = page.getByRole("region", { name: "Values" });
    await values.getByText("65").waitFor();
    await values
      .getByRole("listitem")
      .filter({ hasText: "bob" })
      .getByRole("button", { name: "Why?" })
      .click();
    await values.getByText("from 2 events").waitFor();
    const parts = page.getByRole("table", { name: "Events that make up the value" });
    await parts.getByText("60").waitFor();
    expect(await parts.getByRole("row").count()).toBe(3);
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("combobox", { name: "Value" }).selectOption("max");
    await dialog.getByRole("spinbutton", { name: "Time window. Leave empty for no limit" }).fill("30");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Maximum total over “Order Completed”, last 30 d").waitFor();
    await values.getByRole("strong").filter({ hasText: /^60$/ }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("spinbutton", { name: "Time window. Leave empty for no limit" }).fill("");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Maximum total over “Order Completed”", { exact: true }).waitFor();
    // An incomplete list says so.
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("combobox", { name: "Value" }).selectOption("unique_list");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dashboard.send({
      type: "track",
      userId: "bob",
      event: "Order Completed",
      properties: { total: "x".repeat(5_000) },
    });
    await values
      .getByText("The values of 1 user are incomplete: a limit was reached and 1 event left out.")
      .waitFor();
    await page.getByText("1 event left out because a limit was reached.").waitFor();
    await parts.getByRole("columnheader", { name: "Times" }).waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete computed trait" }).click();
    await dialog.getByRole("button", { name: "Delete computed trait" }).click();
    await page.getByText("No computed traits yet").waitFor();
  });

  test("sets an audience's schedule in any unit, and keeps it when it is edited", async () => {
    await page.goto(`${dashboard.url}/audiences/new`);
    await page.getByRole("textbox", { name: "Name" }).fill("Slow ones");
    await page.getByRole("combobox", { name: "Event", exact: true }).fill("Order Completed");
    await page.getByRole("spinbutton", { name: /^Delay before/ }).fill("6");
    await page.getByRole("spinbutton", { name: /^Time between/ }).fill("90");
    await page.getByRole("combobox", { name: /^Time between.*unit$/ }).selectOption("minutes");
    await page.getByRole("checkbox", { name: "Also send track events" }).check();
    await page.getByRole("button", { name: "Create audience" }).click();
    await page.getByText("First sync 6 h after creation, then all changes every 1 h 30 min.").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    expect(await page.getByRole("spinbutton", { name: /^Time between/ }).inputValue()).toBe("90");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Slow ones" }).waitFor();
    const { items } = await dashboard.api<{ items: { name: string; sync: object; trackEvents: boolean }[] }>(
      "GET",
      "/audiences",
    );
    expect(items.find(({ name }) => name === "Slow ones")).toMatchObject({
      sync: { initialDelayMs: 21_600_000, everyMs: 5_400_000 },
      trackEvents: true,
    });
  });

  test("a deletion leaves a receipt and no data of the user", async () => {
    await dashboard.send(
      { type: "identify", userId: "bob", anonymousId: "phone" },
      { type: "alias", userId: "bob", previousId: "robert" },
    );
    const settings = { fileName: "bob.jsonl" };
    const sourceIds = [dashboard.sourceId];
    await dashboard.api("POST", "/destinations", { type: "file", name: "Archive", sourceIds, settings });
    await page.goto(`${dashboard.url}/deletions`);
    await page.getByRole("button", { name: "Delete users" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "User ids" }).fill("bob\n\nbob");
    await dialog.getByRole("checkbox", { name: "Suppress these users" }).check();
    await dialog.getByRole("button", { name: "Preview the deletion" }).click();
    const plan = dialog.getByRole("region", { name: "Preview of the deletion" });
    await plan.getByText(/\d+ messages \(.+\), .* the profile/).waitFor();
    await plan.getByText(/With 1 anonymous id: phone/).waitFor();
    await plan.getByText("Aliases that are kept: robert").waitFor();
    await dialog.getByRole("button", { name: "Delete 1 user" }).click();
    const row = page.getByRole("row", { name: /1 user/ });
    await row.getByText("Finished").waitFor();
    await row.getByRole("button").click();
    await page
      .getByRole("dialog")
      .getByText(/messages, .*the profile/)
      .waitFor();
    await page.getByText("Archive (file) keeps what it got").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "User id to lift" }).fill("bob");
    await page.getByRole("button", { name: "Lift by id" }).click();
    await page.getByText("None.").waitFor();
    await page.goto(`${dashboard.url}/profiles/bob`);
    await page.getByText("Not found").waitFor();
    await page.goto(`${dashboard.url}/messages/bob-1`);
    await page.getByText("Not found").waitFor();
    expect(watched.problems).toEqual([]);
  });
});
