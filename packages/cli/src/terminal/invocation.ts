import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { shellWord } from "./plural.js";

/** What is known of how the process was started. */
export interface Start {
  readonly env: { readonly [name: string]: string | undefined };
  /** The path of the script, as in `process.argv[1]`. */
  readonly script: string | undefined;
  /** The path of the single executable; undefined if Node.js runs the script. */
  readonly executable?: string | undefined;
  /** Resolves symbolic links. Throws for a missing file. */
  readonly realPath?: (path: string) => string;
}

/**
 * How to type `sluice` so that this program runs again: `sluice` if the shell finds it by that name, otherwise through the package
 * manager that started it, or by its path. Never by a name that would be looked up on a registry.
 */
export function invocationOf({ env, script, executable, realPath = realpathSync }: Start): string {
  const manager = env.npm_config_user_agent?.split("/")[0] ?? "";
  const isStartedByManager = env.npm_command !== undefined || env.npm_lifecycle_event !== undefined;
  if (executable === undefined && (isStartedByManager || manager === "bun"))
    return RUNNERS[manager] ?? "npx sluice";
  const own = pathOf(executable ?? script ?? "", realPath);
  if (own === undefined) return "npx sluice";
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = folders.flatMap((folder) => pathOf(join(folder, "sluice"), realPath) ?? [])[0];
  if (found === own) return "sluice";
  return executable === undefined ? `node ${shellWord(own)}` : shellWord(own);
}

const RUNNERS: { readonly [manager: string]: string } = {
  pnpm: "pnpm exec sluice",
  yarn: "yarn sluice",
  bun: "bunx sluice",
};

function pathOf(path: string, realPath: (path: string) => string): string | undefined {
  try {
    return realPath(path);
  } catch {
    return undefined;
  }
}

/** Our texts say `npx sluice`; this says it as the user started it, except in the body of a shell function. Not for text from events. */
export function asStarted(text: string, { invocation }: { readonly invocation: string }): string {
  return invocation === "npx sluice" ? text : text.replace(/(?<!\{ )npx sluice/g, () => invocation);
}
