import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import type { RetentionOptions } from "@sluice/event-log";
import { KB } from "@sluice/protocol";
import { clusterProblems } from "./settings/cluster-settings.js";
import { type CollectorConfig, SETTINGS, type Setting } from "./settings.js";
import type { Logger } from "./telemetry/logger.js";

/** The configuration is not valid. The message has one line for each problem. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

export interface ConfigInputs {
  /** Options of the command line. They win over everything else. */
  readonly flags?: { readonly [K in keyof CollectorConfig]?: unknown };
  readonly env?: { readonly [name: string]: string | undefined };
  /** Path of a JSON file with settings by name. Default: the value of `SLUICE_CONFIG`, else none. */
  readonly file?: string;
  readonly readFile?: (path: string) => string;
}

/** Reads the configuration from command line, environment, file and defaults, in this order. Throws a `ConfigError` with all problems. */
export function loadConfig(inputs: ConfigInputs = {}): CollectorConfig {
  const { flags = {}, env = process.env, readFile = (path) => readFileSync(path, "utf8") } = inputs;
  const problems: string[] = [];
  const path = inputs.file ?? env.SLUICE_CONFIG;
  const file = path === undefined || path === "" ? {} : readSettings(path, readFile, problems);
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [keyof CollectorConfig, Setting<unknown>][]) {
    const given: Given =
      flags[name] !== undefined
        ? { value: flags[name], origin: `option ${name}` }
        : isSet(env[setting.env])
          ? { value: env[setting.env], origin: setting.env }
          : { value: file[name], origin: `${name} in ${path}` };
    config[name] = parseSetting(setting, given, problems);
  }
  const checked = config as unknown as CollectorConfig;
  if (problems.length === 0) problems.push(...clusterProblems(checked));
  if (problems.length > 0) throw new ConfigError(problems);
  return checked;
}

/** A value that was given for a setting, and where. */
interface Given {
  readonly value: unknown;
  readonly origin: string;
}

/** An empty variable counts as not set. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

/** The user and password of a URL, also of one that is mistyped: everything before the `@`. */
function withoutUserInfo(text: string): string {
  return text.replace(/[^\s,"]+@/g, "[hidden]@");
}

function parseSetting(setting: Setting<unknown>, { value, origin }: Given, problems: string[]): unknown {
  if (value === undefined || value === null) return setting.default;
  const parsed = setting.parse(value);
  if (parsed === undefined) {
    const got = setting.isSecret === true ? "" : `, got ${withoutUserInfo(JSON.stringify(value))}`;
    problems.push(`${origin} must be ${setting.rule}${got}`);
  }
  return parsed;
}

function readSettings(
  path: string,
  readFile: (path: string) => string,
  problems: string[],
): { readonly [name: string]: unknown } {
  let content: unknown;
  try {
    content = JSON.parse(readFile(path));
  } catch (error) {
    problems.push(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    problems.push(`${path} must contain a JSON object`);
    return {};
  }
  for (const name of Object.keys(content)) {
    if (!Object.hasOwn(SETTINGS, name)) problems.push(`${name} in ${path} is not a setting`);
  }
  return content as { [name: string]: unknown };
}

/** `auto`: this share of the volume, but at most this many bytes. */
const AUTO_SHARE = 0.5;
const MAX_AUTO_BYTES = 50 * KB ** 3;
/** The lowest setting, for tiny volumes. */
const MIN_BYTES = 10 * KB * KB;

/** Resolves the settings `retentionMs` and `retentionBytes` for the volume of a folder, which must exist. */
export async function resolveRetention(
  { retentionMs, retentionBytes }: Pick<CollectorConfig, "retentionMs" | "retentionBytes">,
  folder: string,
): Promise<RetentionOptions> {
  const maxBytes = retentionBytes === "auto" ? await autoBytes(folder) : retentionBytes;
  return {
    ...(retentionMs === "none" ? {} : { maxAgeMs: retentionMs }),
    ...(maxBytes === "none" ? {} : { maxBytes }),
  };
}

async function autoBytes(folder: string): Promise<number> {
  const { blocks, bsize } = await statfs(folder);
  return Math.max(MIN_BYTES, Math.min(MAX_AUTO_BYTES, Math.floor(blocks * bsize * AUTO_SHARE)));
}

/** Logs the retention limits, so that nobody learns of them by missing a message. */
export function announceRetention(logger: Logger, { maxAgeMs, maxBytes }: RetentionOptions): void {
  if (maxAgeMs === undefined && maxBytes === undefined) return;
  logger.info("older messages are removed", {
    ...(maxAgeMs === undefined ? {} : { retentionMs: maxAgeMs }),
    ...(maxBytes === undefined ? {} : { retentionBytes: maxBytes }),
    change: "set retentionMs and retentionBytes in the configuration; `none` keeps everything",
  });
}
