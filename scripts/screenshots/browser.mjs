import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function openBrowser() {
  const executablePath = CHROMIUM.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error("Chromium is missing: apt-get install chromium");
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * A signed-in page whose clock is the collector's, without animations.
 * @param {import("playwright-core").Browser} browser
 * @param {{ collector: { url: string, adminToken: string }, clock: { now(): number }, width: number, height: number, theme: "light" | "dark" }} options
 */
export async function openDashboard(browser, { collector, clock, width, height, theme }) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.clock.install({ time: clock.now() });
  await page.goto(`${collector.url}/#token=${collector.adminToken}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}
