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
  });
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
      await page.route("**/api/v1/counters*", () => {});
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

  test("destinations that fail for one reason are one problem, and disabled ones are none", async () => {
    const { page } = watched;
    for (const name of ["mirror", "off"])
      await dashboard.api("POST", "/destinations", {
        name,
        type: "webhooks",
        enabled: name === "mirror",
        sourceIds: [dashboard.sourceId],
        settings: { webhooks: [{ url: `${dashboard.receiver.url}/shop` }] },
      });
    await dashboard.send({ type: "track", messageId: "two", userId: "u", event: "Order Completed" });
    await page.goto(dashboard.url);
    const problems = page.getByRole("region", { name: "1 problem" });
    await problems
      .getByRole("row", { name: /The receiver rejected the message \(400\).*shop, mirror/ })
      .waitFor();
    expect(await problems.getByText("off", { exact: true }).count()).toBe(0);
  });

  test("requests with a wrong key are a problem on the overview, and the page of warnings says whose", async () => {
    const { page } = watched;
    for (let sent = 0; sent < 19; sent++)
      await fetch(`${dashboard.url}/v1/batch`, {
        method: "POST",
        headers: {
          authorization: `Basic ${btoa("wk_mistyped_0123456789:")}`,
          "user-agent": "analytics-node/3.1",
        },
        body: "{}",
      });
    await dashboard.send({ type: "track" });
    await page.goto(dashboard.url);
    const row = page.getByRole("row", { name: /19 requests refused: 401 invalid_write_key/ });
    await row.getByText(/begins with wk_mis.*127\.0\.0\.1, analytics-node\/3\.1/).waitFor();
    await row.getByRole("link", { name: "Warnings" }).click();
    await page
      .getByRole("table", { name: /^Unknown write keys/ })
      .getByRole("row", { name: /wk_mis.*analytics-node\/3\.1 19/ })
      .waitFor();
    await page
      .getByRole("table", { name: /^Rejected messages/ })
      .getByRole("row", { name: /userId.* 1 / })
      .waitFor();
  });

  test("a join that was refused is on the page of warnings", async () => {
    const { page } = watched;
    const web = await dashboard.api<{ writeKeys: { key: string }[] }>("POST", "/sources", {
      name: "Site",
      kind: "web",
    });
    const [identify, alias] = [
      { type: "identify", userId: "ada", anonymousId: "a1", traits: {} },
      { type: "alias", userId: "eve", previousId: "ada" },
    ];
    await dashboard.send(identify);
    await dashboard.api("POST", "/audiences", {
      name: "All",
      condition: { kind: "trait", trait: "plan", is: "exists" },
    });
    await fetch(`${dashboard.url}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${web.writeKeys[0]?.key}:`)}` },
      body: JSON.stringify({ batch: [alias] }),
    });
    await page.goto(`${dashboard.url}/warnings`);
    const joins = page.getByRole("table", { name: "Refused joins of ids by source" });
    await joins.getByRole("row", { name: /^Site 1/ }).waitFor();
  });

  test("asks what becomes of the backlog before it enables a destination", async () => {
    const { page } = watched;
    dashboard.receiver.answer("/late", 500);
    const { id } = await dashboard.api<{ id: string }>("POST", "/destinations", {
      name: "late",
      type: "webhooks",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/late` }] },
    });
    await dashboard.send({ type: "track", messageId: "kept", userId: "u", event: "Order Completed" });
    await expect
      .poll(() => dashboard.receiver.received.filter(({ path }) => path === "/late").length)
      .toBeGreaterThan(0);
    await dashboard.api("PATCH", `/destinations/${id}`, { enabled: false });
    await page.goto(`${dashboard.url}/destinations/${id}`);
    await page.getByText(/1 earlier message wait/).waitFor();
    await page.getByRole("switch", { name: "Disabled" }).click();
    await page.getByRole("dialog").getByText("1 message waits from before it was disabled.").waitFor();
    await page.getByRole("button", { name: "Enable and skip them" }).click();
    await page.getByText("Enabled: the backlog is skipped").waitFor();
  });
});
