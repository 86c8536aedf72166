import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { getAssetKeys, getRawAsset } from "node:sea";
import { fileURLToPath } from "node:url";

/** The files of the built dashboard. They do not change while the collector runs. */
export interface DashboardFiles {
  /** Paths with a slash at the start, such as `/index.html`. */
  readonly paths: readonly string[];
  read(path: string): Promise<Uint8Array>;
}

/** The files of a folder, without source maps. */
export function filesInFolder(folder: string): DashboardFiles {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".map"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll("\\", "/"))
    .map((path) => (path.startsWith("/") ? path : `/${path}`));
  return { paths, read: (path) => readFile(join(folder, path)) };
}

/**
 * The built dashboard: next to the collector if that was built or published, in its own workspace if the collector runs from
 * sources, an asset in the single executable. Undefined if the dashboard was not built.
 */
export function findDashboard(): DashboardFiles | undefined {
  if (import.meta.url.startsWith("sea:")) return filesInExecutable();
  const folder = ["./dashboard/", "../../../../dashboard/dist/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(`${path}index.html`));
  return folder === undefined ? undefined : filesInFolder(folder);
}

function filesInExecutable(): DashboardFiles {
  const folder = "dashboard";
  return {
    paths: getAssetKeys()
      .filter((key) => key.startsWith(`${folder}/`))
      .map((key) => key.slice(folder.length)),
    read: async (path) => new Uint8Array(getRawAsset(`${folder}${path}`) as ArrayBuffer),
  };
}
