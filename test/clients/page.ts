import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { type Browser, chromium } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

/** Whether to skip tests that need Chromium. On CI a missing browser is a failure, not a skip. */
export const isBrowserMissing = CHROMIUM === undefined && process.env.CI === undefined;
if (isBrowserMissing) console.warn("skipped: needs Chromium: apt-get install chromium");

export function launchChromium(): Promise<Browser> {
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
      // The names of vendors lead nowhere: a client that asks them for anything fails its test.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    ],
  });
}

export interface Site {
  readonly url: string;
  /** Serves this page at `/` from now on. */
  show(html: string): void;
  close(): Promise<void>;
}

/** A site of another origin than the collector. It serves the scripts by the names of their files. */
export async function startSite(scripts: Readonly<Record<string, string>>): Promise<Site> {
  let page = "";
  const server = createServer((request, response) => {
    const name = basename(request.url?.split("?")[0] ?? "");
    const script = scripts[name];
    response.setHeader("content-type", script === undefined ? "text/html; charset=utf-8" : "text/javascript");
    response.end(
      script === undefined
        ? `<!doctype html><title>Shop</title>${page}`
        : existsSync(script)
          ? readFileSync(script)
          : script,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    show(html) {
      page = html;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
