import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildDashboard } from "./running-dashboard.js";

/** The sum of all files, each compressed separately. */
const MOST_BYTES = 300_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-dashboard-size-"));
  await buildDashboard(folder);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function files(): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test("the whole dashboard is at most 300 KB compressed, font included", async () => {
  const sizes = await Promise.all(
    (await files()).map(async (file) => gzipSync(await readFile(file)).byteLength),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MOST_BYTES);
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
