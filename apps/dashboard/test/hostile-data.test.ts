import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

/** Known attacks: markup, handlers, URLs, templates, characters that hide or reverse text. */
const CORPUS: readonly string[] = [
  "<script>window.pwned=1</script>",
  '"><img src=x onerror="window.pwned=1">',
  "<svg/onload=window.pwned=1>",
  "javascript:window.pwned=1//",
  "data:text/html,<script>window.pwned=1</script>",
  "'-window.pwned=1-'",
  "\u0000</title><script>window.pwned=1</script>",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it imitates a template
  "${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}",
  "<iframe srcdoc='<script>parent.pwned=1</script>'>",
  "<a href=javascript:window.pwned=1>click</a>",
  "<style>*{display:none}</style><base href=//evil.example/>",
  "<form action=//evil.example><input name=token></form>",
  "\u202egnp.exe\u202c\u200b\u2066hidden\u2069",
  "]]></script><!--",
  "__proto__",
];

describeInBrowser("hostile event data", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    dashboard.receiver.answer("/hook", 404, CORPUS.join("\n"));
    await dashboard.api("POST", "/destinations", {
      type: "webhooks",
      name: CORPUS[1],
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/hook` }] },
    });
    await dashboard.api("PATCH", `/sources/${dashboard.sourceId}`, {
      name: CORPUS[0],
      blockedEvents: [`blocked ${CORPUS[2]}`],
    });
    for (const text of CORPUS) await dashboard.send(...messagesOf(text));
    watched = await openPage(browser, { width: 1_440, height: 900, isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** A message of each kind with the text in every field that takes one. */
  function messagesOf(text: string): object[] {
    const data = JSON.parse(
      JSON.stringify({ key: text, nested: { list: [text, { deep: text }] } }),
    ) as object;
    Object.defineProperty(data, text, { value: text, enumerable: true });
    const common = { userId: text, anonymousId: text, context: data };
    return [
      { type: "track", messageId: `id ${text}`.slice(0, 99), event: text, properties: data, ...common },
      { type: "identify", traits: data, ...common },
      { type: "page", name: text, category: text, properties: data, ...common },
      { type: "group", groupId: text, traits: data, ...common },
      { type: "alias", previousId: text, userId: text },
      // Rejected, but still shown.
      { type: text, event: text },
    ];
  }

  async function expectNothingRan(): Promise<void> {
    expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
    expect(watched.problems).toEqual([]);
    const found = await page.evaluate(() => ({
      scripts: document.querySelectorAll("script:not([src^='/assets/'])").length,
      frames: document.querySelectorAll("iframe, object, embed, base, form[action]").length,
      handlers: document.querySelectorAll("[onerror], [onload]").length,
      links: [...document.querySelectorAll("a")]
        .map((link) => link.href)
        .filter((href) => !href.startsWith(location.origin)),
    }));
    expect(found).toEqual({ scripts: 0, frames: 0, handlers: 0, links: [] });
  }

  test("in the live list and beside it", async () => {
    await page.goto(`${dashboard.url}/live`);
    await page.getByRole("option").first().waitFor();
    for (let row = 0; row < 12; row++) {
      await page.keyboard.press("Tab");
      await page.getByRole("option").nth(row).click();
      await page.getByRole("region", { name: "Selected message" }).waitFor();
    }
    await expectNothingRan();
  });

  test.each(CORPUS.map((text, index) => [index, text] as const))(
    "on the message's page, the delivery's and the profile's: %i",
    async (_, text) => {
      const messageId = `id ${text}`.slice(0, 99);
      await page.goto(`${dashboard.url}/messages/${encodeURIComponent(messageId)}`);
      await page.getByText("Request and response").first().click();
      await page.getByRole("tab", { name: "Raw" }).click();
      await page.getByRole("tab", { name: "Webhook body" }).click();
      await expectNothingRan();
      await page.goto(`${dashboard.url}/profiles/${encodeURIComponent(text)}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expectNothingRan();
    },
  );

  test.each(["/", "/deliveries", "/sources", "/destinations", "/settings"])("on %s", async (path) => {
    await page.goto(dashboard.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByLabel("Loading").first().waitFor({ state: "detached" });
    await expectNothingRan();
  });

  test("in the address and in the filter", async () => {
    for (const text of CORPUS) {
      await page.goto(`${dashboard.url}/live?q=${encodeURIComponent(text)}`);
      await page.getByRole("searchbox", { name: "Filter" }).waitFor();
      await page.goto(
        `${dashboard.url}/messages/${encodeURIComponent(text)}?source=${encodeURIComponent(text)}`,
      );
      await page
        .getByRole("alert")
        .or(page.getByRole("heading", { name: "Timeline" }))
        .first()
        .waitFor();
    }
    await expectNothingRan();
  });

  test("characters that hide or reverse text are shown by their code", async () => {
    await page.goto(`${dashboard.url}/live?q=${encodeURIComponent("type:page gnp.exe")}`);
    const row = page.getByRole("option").first();
    await row.waitFor();
    const text = await row.innerText();
    expect(text).toContain("\\u202egnp.exe\\u202c\\u200b\\u2066hidden\\u2069");
    expect(text).not.toContain("\u202e");
  });
});
