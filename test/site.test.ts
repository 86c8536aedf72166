import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, posix } from "node:path";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violations } from "../apps/dashboard/test/accessibility.js";

const ROOT = join(import.meta.dirname, "..");
const SITE = join(ROOT, "site");
const DIST = join(SITE, "dist");
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
const isInstalled = existsSync(join(SITE, "node_modules/vitepress"));
if (!isInstalled && process.env.CI === undefined) console.warn("skipped: needs npm run site:install");

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(DIST, posix.join(entry.parentPath, entry.name)));

const textOf = (file: string): string => readFileSync(join(DIST, file), "utf8");

const valuesOf = (attribute: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) =>
    decodeURI(value.replaceAll("&amp;", "&")),
  );

// On CI a missing generator is a failure, not a skip.
describe.skipIf(!isInstalled && process.env.CI === undefined)("the website of docs/", () => {
  let files: string[] = [];
  let pages: string[] = [];
  const idsOf = new Map<string, Set<string>>();

  beforeAll(async () => {
    // A dead link to a page fails the build.
    await promisify(execFile)("npm", ["run", "build"], { cwd: SITE });
    files = filesOf(DIST);
    pages = files.filter((file) => file.endsWith(".html") && file !== "404.html");
    for (const page of pages) idsOf.set(page, new Set(valuesOf("id", textOf(page))));
  }, 300_000);

  test("has every page of docs/, each in the navigation", () => {
    const sources = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => (name === "README.md" ? "index.html" : name.replace(/\.md$/, ".html")));
    expect(sources.filter((page) => !pages.includes(page))).toEqual([]);
    const [, sidebar = ""] =
      /<aside class="VPSidebar([\s\S]*?)<\/aside>/.exec(textOf("guide/sdk.html")) ?? [];
    const linked = valuesOf("href", sidebar);
    expect(sources.filter((page) => page !== "index.html" && !linked.includes(`/${page}`))).toEqual([]);
  });

  test("has all commands and endpoints, generated from the code", () => {
    expect(textOf("reference/commands.html")).toContain("sluice destinations create");
    expect(textOf("reference/endpoints.html")).toContain("GET /api/v1/destinations");
    expect(textOf("reference/endpoints.html")).not.toContain("undefined");
  });

  test("has no dead link, to a page, a heading or a file", () => {
    const dead = pages.flatMap((page) =>
      [...valuesOf("href", textOf(page)), ...valuesOf("src", textOf(page))]
        .filter((target) => !/^(https?|mailto|data):/.test(target))
        .filter((target) => {
          const { pathname, hash } = new URL(target, `http://site/${page}`);
          const file = decodeURI(pathname.slice(1) === "" ? "index.html" : pathname.slice(1));
          if (!files.includes(file)) return true;
          const anchor = decodeURIComponent(hash.slice(1));
          return anchor !== "" && idsOf.get(file)?.has(anchor) !== true;
        })
        .map((target) => `${page}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  test("loads nothing from another host", () => {
    const foreign = files
      .filter((file) => /\.(html|css|js)$/.test(file))
      .flatMap((file) =>
        [
          ...textOf(file).matchAll(
            /<(?:script|img|source|iframe)[^>]*\ssrc="(?:https?:)?\/\/[^"]*"|<link[^>]*\shref="(?:https?:)?\/\/[^"]*"|url\(["']?(?:https?:)?\/\/[^)]*\)|\bimport\(?["'](?:https?:)?\/\/[^"']*|\bfetch\(["'`](?:https?:)?\/\/[^"'`]*/g,
          ),
        ].map(([loaded]) => `${file}: ${loaded}`),
      );
    expect(foreign).toEqual([]);
  });

  test("shows text that Vue or HTML would read as code", async () => {
    const vitepress = join(SITE, "node_modules/vitepress/dist/node/index.js");
    const { createMarkdownRenderer } = (await import(vitepress)) as {
      createMarkdownRenderer: (
        folder: string,
        options: object,
      ) => Promise<{ render(text: string, env: object): string }>;
    };
    const plugin = join(SITE, ".vitepress/markdown.js");
    const { markdown } = (await import(plugin)) as { markdown: object };
    const renderer = await createMarkdownRenderer(SITE, markdown);
    const html = renderer.render(
      "# Of {{ title }}\n\n{{ text }} and `{{ code }}`, `Map<T>`, Map<T>, <script>alert(1)</script>\n\n| {{ cell }} |\n| --- |\n| <T> |\n\n<!-- comment -->\n",
      { path: join(SITE, ".pages/docs/guide/sdk.md") },
    );
    // Vue does not read values of attributes.
    const read = html.replace(/="[^"]*"/g, "");
    expect(read).not.toMatch(/\{\{|<T>|<script>/);
    expect(read).toContain("&lt;script&gt;");
    expect(read).not.toContain("comment");
  });

  describe.skipIf(CHROMIUM === undefined && process.env.CI === undefined)("in Chromium", () => {
    let browser: Browser;
    let server: Server;
    let url = "";

    beforeAll(async () => {
      const types: Record<string, string> = {
        ".html": "text/html",
        ".js": "text/javascript",
        ".css": "text/css",
      };
      server = createServer((request, response) => {
        const { pathname } = new URL(request.url ?? "/", "http://site");
        const file = decodeURI(pathname.slice(1) || "index.html");
        if (!files.includes(file)) return void response.writeHead(404).end();
        response.setHeader("content-type", `${types[extname(file)] ?? "image/svg+xml"}; charset=utf-8`);
        response.end(readFileSync(join(DIST, file)));
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      browser = await chromium.launch({
        executablePath: CHROMIUM ?? "chromium is missing",
        args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat(
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
        ),
      });
    });
    afterAll(async () => {
      await browser?.close();
      server?.closeAllConnections();
      server?.close();
    });

    test("searches without another host, and opens the result", async () => {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on("request", (request) => {
        if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url))
          problems.push(request.url());
      });
      page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
      page.on("pageerror", (error) => problems.push(String(error)));
      await page.goto(`${url}/guide/sdk.html`);
      await page.click(".VPNavBarSearch button");
      await page.fill("#localsearch-input", "circuit breaker");
      await page.waitForSelector(".VPLocalSearchBox .result");
      await page.keyboard.press("Enter");
      await page.waitForURL((address) => !address.pathname.endsWith("/guide/sdk.html"));
      await page.waitForSelector(".vp-doc h1");
      expect(problems).toEqual([]);
      await page.close();
    });

    test.each([
      { width: 1_280, colorScheme: "light" },
      { width: 1_280, colorScheme: "dark" },
      { width: 390, colorScheme: "light" },
    ] as const)("axe finds no violations: $width px, $colorScheme", async ({ width, colorScheme }) => {
      const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
      for (const one of ["", "guide/sdk.html", "guide/from-segment.html", "reference/endpoints.html"]) {
        await page.goto(`${url}/${one}`);
        await page.waitForSelector("h1");
        expect(await violations(page), one).toEqual([]);
      }
      await page.close();
    });

    test("a section of the sidebar opens and closes with the keyboard", async () => {
      const page = await browser.newPage();
      await page.goto(`${url}/guide/sdk.html`);
      const section = page.locator('.VPSidebarItem > .item[role="button"]').first();
      const before = await section.getAttribute("aria-expanded");
      await section.focus();
      await page.keyboard.press("Enter");
      await expect.poll(() => section.getAttribute("aria-expanded")).not.toBe(before);
      await page.close();
    });

    test("fits a narrow screen", async () => {
      const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
      for (const one of [
        "",
        "guide/destinations.html",
        "guide/from-segment.html",
        "reference/control-api.html",
      ]) {
        await page.goto(`${url}/${one}`);
        const { scrollWidth } = await page.evaluate<{ scrollWidth: number }>(
          "({ scrollWidth: document.documentElement.scrollWidth })",
        );
        expect(scrollWidth, one).toBe(360);
      }
      await page.close();
    });
  });
});
