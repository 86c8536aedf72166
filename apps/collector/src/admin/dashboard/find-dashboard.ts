import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The folder of the built dashboard: beside the built collector where it was published or built, in its own workspace
 * where the collector runs from its sources. Undefined: it was not built.
 */
export function findDashboard(): string | undefined {
  return ["./dashboard/", "../../../../dashboard/dist/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((folder) => existsSync(`${folder}index.html`));
}
