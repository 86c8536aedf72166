import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ALL_RULES, COLOR_RULES, LAYOUT_RULES, switchTransitionsOff, violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

/** The limit for a good cumulative layout shift, according to web.dev. */
const MOST_SHIFT = 0.1;

describeInBrowser("every page", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  const ids = { webhook: "", audience: "", trait: "", transformation: "" };

  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
    const { api, receiver, sourceId } = dashboard;
    receiver.answer("/bad", 404, "no such hook");
    const good = await api<{ id: string }>("POST", "/destinations", {
      type: "webhooks",
      name: "Warehouse",
      sourceIds: [sourceId],
      settings: { webhooks: [{ url: `${receiver.url}/good` }], sharedSecret: "s3cret" },
      filters: [{ kinds: ["page"], action: { kind: "drop" } }],
    });
    for (const name of ["Billing", "Invoices"])
      await api("POST", "/destinations", {
        type: "webhooks",
        name,
        sourceIds: [sourceId],
        settings: { webhooks: [{ url: `${receiver.url}/bad` }] },
      });
    ids.webhook = good.id;
    await api("PUT", `/sources/${sourceId}/plan`, {
      plan: { track: { "Order Completed": { properties: { total: { type: "integer" } } } } },
    });
    await dashboard.send(
      { type: "identify", messageId: "m1", userId: "u1", traits: { plan: "pro", email: "ada@example.com" } },
      { type: "track", messageId: "m2", userId: "u1", event: "Order Completed", properties: { total: 12.5 } },
      { type: "page", messageId: "m3", userId: "u1", name: "Pricing" },
      { type: "track", messageId: "m4", userId: "u1" },
    );
    // Rejected and without an id: it has no page.
    await dashboard.send({ type: "track", userId: "u2" });
    const transformation = await api<{ id: string }>("POST", "/transformations", {
      name: "Hash e-mail addresses for partners",
      code: "export default function transform(message) {\n  return message;\n}\n",
      secrets: { SALT: "s3cret" },
    });
    ids.transformation = transformation.id;
    const audience = await api<{ id: string }>("POST", "/audiences", {
      name: "VIP customers",
      condition: {
        kind: "and",
        conditions: [
          { kind: "trait", trait: "plan", is: "equals", value: "pro" },
          {
            kind: "or",
            conditions: [
              { kind: "event", event: "Order Completed", times: { atLeast: 1 }, withinMs: 86_400_000 },
              { kind: "not", condition: { kind: "trait", trait: "email", is: "contains", value: "@spam" } },
            ],
          },
        ],
      },
      destinationIds: [good.id],
    });
    ids.audience = audience.id;
    const trait = await api<{ id: string }>("POST", "/computed-traits", {
      name: "Lifetime value",
      kind: "sum",
      event: "Order Completed",
      property: "total",
    });
    ids.trait = trait.id;
    await api("GET", `/wait?messageId=m2&destinationId=${good.id}&state=delivered&timeoutMs=60000`);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const pages: readonly (readonly [name: string, path: () => string])[] = [
    ["overview", () => "/"],
    ["live", () => "/live"],
    ["message", () => "/messages/m2"],
    ["deliveries", () => "/deliveries"],
    ["warnings", () => "/warnings"],
    ["sources", () => "/sources"],
    ["source", () => `/sources/${dashboard.sourceId}`],
    ["events of a source", () => `/sources/${dashboard.sourceId}/events`],
    ["catalog", () => "/catalog"],
    ["connect", () => "/catalog/webhooks"],
    ["destinations", () => "/destinations"],
    ["destination", () => `/destinations/${ids.webhook}`],
    ["failures of a destination", () => `/destinations/${ids.webhook}?tab=failures`],
    ["settings of a destination", () => `/destinations/${ids.webhook}?tab=settings`],
    ["transformations", () => "/transformations"],
    ["new transformation", () => "/transformations/new"],
    ["transformation", () => `/transformations/${ids.transformation}`],
    ["versions of a transformation", () => `/transformations/${ids.transformation}?tab=versions`],
    ["use of a transformation", () => `/transformations/${ids.transformation}?tab=use`],
    ["audiences", () => "/audiences"],
    ["audience", () => `/audiences/${ids.audience}`],
    ["new audience", () => "/audiences/new"],
    ["edit audience", () => `/audiences/${ids.audience}/edit`],
    ["computed traits", () => "/computed-traits"],
    ["computed trait", () => `/computed-traits/${ids.trait}`],
    ["profiles", () => "/profiles"],
    ["profile", () => "/profiles/u1"],
    ["deletions", () => "/deletions"],
    ["settings", () => "/settings"],
    ["not found", () => "/settings/none"],
  ];

  /** All rules at the widest. A page between the widths has the parts of one of the two, and must not overflow. */
  test.each([
    { loadedAt: 1_440, alsoAt: [768], themes: ["light", "dark"], rulesOfMost: ALL_RULES },
    { loadedAt: 360, alsoAt: [], themes: ["light"], rulesOfMost: LAYOUT_RULES },
  ] as const)(
    "axe finds no violations, nothing overflows or shifts, and the security policy holds: $loadedAt px",
    async ({ loadedAt, alsoAt, themes, rulesOfMost }) => {
      const { page, context, problems } = await openPage(browser, { width: loadedAt });
      await page.addInitScript(recordShifts);
      await page.goto(dashboard.signInUrl);
      await page.getByRole("heading", { level: 1 }).waitFor();
      for (const [name, path] of pages) {
        await page.goto(dashboard.url + path());
        await settled(page);
        expect(await shiftOf(page), `shift on ${name}`).toBeLessThan(MOST_SHIFT);
        await switchTransitionsOff(page);
        for (const colorScheme of themes) {
          await page.emulateMedia({ colorScheme });
          const ofLight = name === "overview" ? ALL_RULES : rulesOfMost;
          const rules = colorScheme === "light" ? ofLight : COLOR_RULES;
          const where = `${name}, ${colorScheme} at ${loadedAt} px`;
          expect(await violations(page, rules), `axe on ${where}`).toEqual([]);
        }
        for (const width of [loadedAt, ...alsoAt]) {
          await page.setViewportSize({ width, height: 800 });
          const where = `${name} at ${width} px`;
          expect(await sticksOutBy(page), `sideways scrolling on ${where}`).toBe(0);
          expect(await cutOff(page), `cut or sticking out of its card on ${where}`).toEqual([]);
          expect(problems, where).toEqual([]);
        }
        await page.setViewportSize({ width: loadedAt, height: 800 });
      }
      await context.close();
    },
    240_000,
  );

  test('an unknown path shows "Page not found" with a link to the overview', async () => {
    const { page, context } = await openPage(browser);
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // Without a request to the server.
    await page.evaluate(() => history.pushState(null, "", "/nope"));
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await context.close();
  });

  test("signs in with the right token, and not with a wrong one", async () => {
    const { page, context, problems } = await openPage(browser);
    await page.goto(`${dashboard.url}/deliveries`);
    await page.getByLabel("Admin token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This token is not valid.").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Admin token").fill(dashboard.adminToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  test("dialogs and menus are accessible too", async () => {
    const { page, context } = await openPage(browser);
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const open: readonly (() => Promise<void>)[] = [
      () => page.keyboard.press("Control+k"),
      () => page.keyboard.press("?"),
      async () => {
        await page.goto(`${dashboard.url}/deliveries`);
        await page.getByRole("button", { name: "Replay messages" }).click();
      },
      async () => {
        await page.goto(`${dashboard.url}/deletions`);
        await page.getByRole("button", { name: "Delete users" }).click();
      },
      async () => {
        await page.goto(`${dashboard.url}/computed-traits`);
        await page.getByRole("button", { name: "New computed trait" }).first().click();
      },
      async () => {
        await page.goto(`${dashboard.url}/destinations/${ids.webhook}?tab=settings`);
        await page.getByRole("button", { name: "New rule" }).click();
        await page.getByRole("button", { name: "Condition" }).click();
      },
      async () => {
        // Without room for a panel the selected message opens in a dialog.
        await page.setViewportSize({ width: 360, height: 740 });
        await page.goto(`${dashboard.url}/live?q=outcome:rejected`);
        await page.getByRole("option").first().click();
      },
    ];
    for (const show of open) {
      await show();
      await page.getByRole("dialog").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await context.close();
  });

  test("keyboard shortcuts open every page", async () => {
    const { page, context } = await openPage(browser);
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    for (const [key, heading] of [
      ["l", "Live messages"],
      ["d", "Deliveries"],
      ["s", "Sources"],
      ["t", "Destinations"],
      ["f", "Transformations"],
      ["a", "Audiences"],
      ["c", "Computed traits"],
      ["x", "Deletions"],
      [",", "Settings"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    }
    await page.keyboard.press("Shift+T");
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
    // In the list, arrow keys move and Enter opens.
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("option").first().waitFor();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    expect(await page.getByRole("option", { selected: true }).getAttribute("aria-posinset")).toBe("2");
    await page.keyboard.press("/");
    expect(
      await page
        .getByRole("searchbox", { name: "Filter" })
        .evaluate((field) => field === document.activeElement),
    ).toBe(true);
    await context.close();
  });
});

/** Sums up layout shifts that no input caused. Runs in the page. */
function recordShifts(): void {
  const page = window as { shift?: number };
  page.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & {
      value: number;
      hadRecentInput: boolean;
    })[]) {
      if (!entry.hadRecentInput) page.shift = (page.shift ?? 0) + entry.value;
    }
  }).observe({ type: "layout-shift", buffered: true });
}

function shiftOf(page: Page): Promise<number> {
  return page.evaluate(() => (window as { shift?: number }).shift ?? 0);
}

/** Waits until the page has its data. */
async function settled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByLabel("Loading").first().waitFor({ state: "detached" });
}

/** Selects that cut off the selected text, and elements that overflow their box without scrolling. */
function cutOff(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d");
    const selects = [...document.querySelectorAll("select")].flatMap((select) => {
      const text = select.selectedOptions[0]?.text ?? "";
      const style = getComputedStyle(select);
      if (context === null) return ["no canvas"];
      if (!select.checkVisibility()) return [];
      context.font = style.font;
      const room =
        select.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight);
      return context.measureText(text).width <= room + 1 ? [] : [`select: ${text}`];
    });
    const parts = [...document.querySelectorAll(".card *")].flatMap((part) => {
      const card = part.parentElement?.closest(".leaf, .card") ?? null;
      const scrolls = [
        ...document.querySelectorAll(".card .code-text, .card .tabs, .card .table-box, .json"),
      ];
      if (card === null || scrolls.some((box) => box !== part && box.contains(part))) return [];
      const { right, width } = part.getBoundingClientRect();
      const isSeen = width > 1 && part.closest(".visually-hidden, svg") === null;
      return isSeen && right > card.getBoundingClientRect().right + 0.5
        ? [`${part.tagName.toLowerCase()}.${part.className}`]
        : [];
    });
    return [...selects, ...parts];
  });
}

function sticksOutBy(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
