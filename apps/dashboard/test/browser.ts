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

export async function openPage(
  browser: Browser,
  options: { readonly width?: number; readonly height?: number; readonly theme?: "light" | "dark" } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1_280, height: options.height ?? 800 },
    colorScheme: options.theme ?? "light",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  // Shorter than the test's timeout, so that the error names the missing element.
  page.setDefaultTimeout(15_000);
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
