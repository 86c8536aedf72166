import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";

export const DEFAULT_FILES = [
  "sluice.config.ts",
  "sluice.config.mjs",
  "sluice.config.js",
  "sluice.config.json",
];

interface LoadedConfig {
  /** Parsed JSON, or the default export of a module. */
  readonly contents: unknown;
  /** Files that it names are relative to it. */
  readonly folder: string;
}

export async function loadConfig(given: string | undefined, io: Io): Promise<LoadedConfig> {
  const file =
    given === undefined
      ? DEFAULT_FILES.map((name) => resolve(io.cwd, name)).find((path) => existsSync(path))
      : resolve(io.cwd, given);
  if (file === undefined)
    throw new CommandFailure(
      "usage",
      `There is no configuration file in ${io.cwd}`,
      `Create one of ${DEFAULT_FILES.join(", ")}, or name a file`,
    );
  try {
    const folder = dirname(file);
    if (file.endsWith(".json")) return { contents: JSON.parse(await readFile(file, "utf8")), folder };
    const module: { default?: unknown } = await import(pathToFileURL(file).href);
    return { contents: module.default, folder };
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
