import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";

export const DEFAULT_FILES = [
  "sluice.config.ts",
  "sluice.config.mjs",
  "sluice.config.js",
  "sluice.config.json",
];

/** The contents of a configuration file: parsed JSON, or the default export of a module. */
export async function loadConfig(given: string | undefined, io: Io): Promise<unknown> {
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
    if (file.endsWith(".json")) return JSON.parse(await readFile(file, "utf8"));
    const module: { default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
