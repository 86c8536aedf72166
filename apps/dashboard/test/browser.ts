import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { describe } from "vitest";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
const isMissing = CHROMIUM === undefined && process.env.CI === undefined;
if (isMissing) console.warn("skipped: needs Chromium: apt-get install chromium");

/** In CI a missing browser is a failure, not a skip. */
export const describeInBrowser = describe.skipIf(isMissing);

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? "chromium is missing",
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

/** A page in its own browser context that records problems. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Console errors, uncaught errors and violations of the content security policy, but not 4xx answers. */
  readonly problems: readonly string[];
}

/** Intervals from this length on are for lists that are fetched again. */
const POLLING_MS = 2_000;
/** How often they are fetched in tests that would wait 5 seconds for each change. */
const FAST_POLLING_MS = 600;

function pollFaster([from, to]: [from: number, to: number]): void {
  const set = globalThis.setInterval.bind(globalThis);
  const faster = (run: () => void, ms = 0) => set(run, ms >= from ? to : ms);
  Object.assign(globalThis, { setInterval: faster });
}

export async function openPage(
  browser: Browser,
  options: {
    readonly width?: number;
    readonly height?: number;
    readonly theme?: "light" | "dark";
    readonly isPollingFaster?: boolean;
  } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1_280, height: options.height ?? 800 },
    colorScheme: options.theme ?? "light",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  if (options.isPollingFaster)
    await context.addInitScript(pollFaster, [POLLING_MS, FAST_POLLING_MS] as [number, number]);
  const page = await context.newPage();
  // Shorter than the test's timeout, so that the error names the missing element.
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) problems.push(text);
  });
  return { page, context, problems };
}
