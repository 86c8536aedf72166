import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildDashboard } from "./running-dashboard.js";

/** The sum of the files of the dashboard, each compressed separately. */
const MOST_BYTES = 300_000;
/** The page with the code editor, which is loaded on demand. */
const MOST_EDITOR_BYTES = 175_000;
/** TypeScript's checker and the library of the language, which that page loads in a worker. */
const MOST_TYPES_BYTES = 560_000;
const MOST_GUIDES_BYTES = 160_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-dashboard-size-"));
  await buildDashboard(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function files(): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test("the dashboard is at most 300 KB compressed, font included, the code editor 175 KB, its types 560 KB, and the guides 160 KB", async () => {
  const compressed = async (names: readonly string[]) => {
    const sizes = names.map(async (file) => gzipSync(await readFile(file)).byteLength);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  };
  const isGuide = (file: string) => file.startsWith(join(folder, "docs"));
  const isEditor = (file: string) => file.includes("transformation-page-");
  const isTypes = (file: string) => file.includes("types-worker-");
  const all = await files();
  const own = all.filter((file) => !isGuide(file) && !isEditor(file) && !isTypes(file));
  expect(await compressed(own)).toBeLessThanOrEqual(MOST_BYTES);
  expect(await compressed(all.filter(isEditor))).toBeLessThanOrEqual(MOST_EDITOR_BYTES);
  expect(await compressed(all.filter(isTypes))).toBeLessThanOrEqual(MOST_TYPES_BYTES);
  expect(await compressed(all.filter(isGuide))).toBeLessThanOrEqual(MOST_GUIDES_BYTES);
});

test("every link of a guide leads to a page, and to a heading there", async () => {
  const pages = new Map<string, string>();
  for (const file of await files()) if (file.endsWith(".html")) pages.set(file, await readFile(file, "utf8"));
  const dead: string[] = [];
  for (const [file, html] of pages)
    for (const [, href = ""] of html.matchAll(/<a href="([^"]*)"/g)) {
      const [path = "", anchor] = href.split("#");
      if (/^https?:/.test(path) || path === "/") continue;
      const target = pages.get(path === "" ? file : join(dirname(file), path));
      if (target === undefined || (anchor !== undefined && !target.includes(` id="${anchor}"`)))
        dead.push(`${file}: ${href}`);
    }
  expect(dead).toEqual([]);
  expect(pages.size).toBeGreaterThan(40);
});

test("the page has no inline script or style, and loads nothing from other hosts", async () => {
  const html = await readFile(join(folder, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i);
  for (const [, address] of html.matchAll(/(?:src|href)="([^"]+)"/g)) expect(address).toMatch(/^\//);
  for (const file of (await files()).filter((name) => name.endsWith(".css"))) {
    for (const [, address] of (await readFile(file, "utf8")).matchAll(/url\(([^)]+)\)/g)) {
      expect(address).toMatch(/^["']?\/assets\//);
    }
  }
});
