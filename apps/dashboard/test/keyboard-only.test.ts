import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

/** Everything on a page must be reachable with this many presses of Tab. */
const MOST_TABS = 120;

interface Focus {
  /** Roughly the name that a screen reader announces. */
  readonly name: string;
  readonly role: string;
  readonly isVisible: boolean;
}

describeInBrowser("without a mouse", () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    [dashboard, browser] = await Promise.all([runDashboard(), openBrowser()]);
    watched = await openPage(browser);
    page = watched.page;
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** The focused element, and whether the focus is visible: an outline, a shadow or a different border. */
  const focus = (): Promise<Focus> =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement | null;
      if (element === null || element === document.body) return { name: "", role: "body", isVisible: false };
      const label =
        element.getAttribute("aria-label") ??
        (element as HTMLInputElement).labels?.[0]?.textContent ??
        element.textContent ??
        "";
      const box = element.getBoundingClientRect();
      // The box around a field, or the track of a switch, may show the focus.
      const around = [element, element.parentElement ?? element, element.nextElementSibling ?? element];
      // The browser draws the focus of the calendar's button.
      const isBrowsersOwn = (element as HTMLInputElement).type === "datetime-local";
      const isMarked =
        isBrowsersOwn ||
        around.some((one) => {
          const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
          return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
        });
      const isInSight = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
      return {
        name: label.trim(),
        role: element.getAttribute("role") ?? element.tagName.toLowerCase(),
        isVisible: isMarked && isInSight,
      };
    });

  /** The focus. If it is out of sight because the page has just grown, goes away and comes back. */
  const focusAgain = async (): Promise<Focus> => {
    const at = await focus();
    if (at.isVisible) return at;
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    return focus();
  };

  /** Presses Tab until an element with that name has the focus. The focus must always be visible. */
  const tabTo = async (name: RegExp): Promise<void> => {
    const passed: string[] = [];
    for (let press = 0; press < MOST_TABS; press++) {
      await page.keyboard.press("Tab");
      const at = await focus();
      passed.push(`${at.role} ${at.name}`);
      // After the last element, the browser itself has the focus once.
      if (at.role !== "body")
        await expect.poll(focusAgain, { message: passed.join(" → ") }).toEqual({ ...at, isVisible: true });
      if (name.test(at.name)) return;
    }
    throw new Error(`Tab does not lead to ${name}: ${passed.join(" → ")}`);
  };
  const isLost = async () => (await focus()).role === "body";

  test("signs in, connects a webhook, tests it, opens a message, retries and counts a replay", async () => {
    const { receiver } = dashboard;
    await page.goto(dashboard.url);
    await page.getByLabel("Admin token").waitFor();
    if (!/Admin token/.test((await focus()).name)) await tabTo(/Admin token/);
    await page.keyboard.type(dashboard.adminToken);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await tabTo(/^Destinations$/);
    await page.keyboard.press("Enter");
    await page.getByText("No destinations yet").waitFor();
    await expect.poll(isLost).toBe(false);
    await tabTo(/Connect a webhook/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Connect Webhooks" }).waitFor();
    await expect.poll(isLost).toBe(false);
    await tabTo(/^URL 1/);
    await page.keyboard.type(`${receiver.url}/hook`);
    await tabTo(/Connect and send a test/);
    await page.keyboard.press("Enter");
    const card = page.getByRole("region", { name: "Test" });
    await card.getByText("Delivered", { exact: true }).waitFor();
    await expect.poll(isLost).toBe(false);
    await tabTo(/^Send a(nother)? test/);
    await page.keyboard.press("Enter");
    await expect.poll(() => receiver.received.length).toBe(2);
    await expect.poll(isLost).toBe(false);

    receiver.answer("/hook", 404);
    await tabTo(/^Live messages$/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Live messages", level: 1 }).waitFor();
    await dashboard.send({ type: "track", messageId: "bad", userId: "u1", event: "Order Refunded" });
    await page.getByRole("option", { name: /Order Refunded/ }).waitFor();
    await tabTo(/^Messages, newest first$/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /Order Refunded/ }).waitFor();
    await expect.poll(isLost).toBe(false);
    const timeline = page.locator(".destination-timeline");
    await timeline.getByText("Failed", { exact: true }).first().waitFor();
    const before = receiver.received.length;
    await tabTo(/^Retry now$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => receiver.received.length).toBe(before + 1);
    await expect.poll(isLost).toBe(false);

    await tabTo(/^Deliveries$/);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "bad" }).waitFor();
    await tabTo(/^Replay messages$/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(/^Count messages$/);
    await page.keyboard.press("Enter");
    await page
      .getByRole("dialog")
      .getByText(/will be sent again/)
      .waitFor();
    await expect.poll(isLost).toBe(false);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    // The focus returns to the button that opened the dialog.
    await expect.poll(async () => (await focus()).name).toBe("Replay messages");
    expect(watched.problems).toEqual([]);
  });

  test("the focus stays out of the page where Tab has led out of it, while the page changes", async () => {
    await page.getByRole("link", { name: "Destinations" }).first().click();
    await page.getByRole("heading", { name: "Destinations", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Overview" }).first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    for (let press = 0; press < MOST_TABS && !(await isLost()); press++) await page.keyboard.press("Tab");
    await page.evaluate(async () => {
      document.querySelector("#page")?.append(document.createElement("div"));
      await new Promise((painted) => requestAnimationFrame(painted));
    });
    expect(await isLost()).toBe(true);
    // Where a change takes the focused element away, the heading has the focus.
    await page.keyboard.press("Tab");
    await page.evaluate(() => {
      const last = [...document.querySelectorAll<HTMLElement>("#page a, #page button")].at(-1);
      last?.focus();
      last?.remove();
    });
    await expect.poll(async () => (await focus()).role).toBe("h1");
  });
});
