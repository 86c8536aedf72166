import { readFileSync } from "node:fs";
import { clusterProblems } from "./settings/cluster-settings.js";
import { type CollectorConfig, SETTINGS, type Setting } from "./settings.js";

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
