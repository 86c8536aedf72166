import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Our packages' names mapped to their sources, so that tests and type checks need no build.
 * Read from `tsconfig.base.json`, the one place where they are listed.
 */
const tsconfig = JSON.parse(readFileSync(new URL("./tsconfig.base.json", import.meta.url), "utf8")) as {
  compilerOptions: { paths: Record<string, [string]> };
};

export const sourceAliases = Object.entries(tsconfig.compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path, import.meta.url)),
}));
