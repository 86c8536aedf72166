import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";

/** Where the packages of other vendors are installed. */
export const MODULES = join(import.meta.dirname, "node_modules");

const isSkipped = !existsSync(join(MODULES, "@rudderstack")) && process.env.CI === undefined;
if (isSkipped) console.warn("skipped: needs the clients of other vendors: npm run clients:install");

/** On CI, clients that are not installed are a failure, not a skip. */
export const describeWithClients = describe.skipIf(isSkipped);
