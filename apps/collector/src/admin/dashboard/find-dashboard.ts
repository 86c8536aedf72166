import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The folder of the built dashboard: next to the collector if that was built or published, in its own workspace if the
 * collector runs from sources. Undefined if the dashboard was not built.
 */
export function findDashboard(): string | undefined {
  return ["./dashboard/", "../../../../dashboard/dist/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((folder) => existsSync(`${folder}index.html`));
}
