import { isPlainObject } from "@sluice/protocol";
import { CommandFailure } from "../../failures.js";

/** The contents of `sluice.config.json` or `sluice.config.ts`. Items are identified by name. */
export interface DeclaredConfig {
  readonly transformations?: readonly DeclaredTransformation[];
  readonly sources?: readonly DeclaredSource[];
  readonly destinations?: readonly DeclaredDestination[];
  readonly audiences?: readonly DeclaredAudience[];
}

export interface DeclaredTransformation {
  readonly name: string;
  /** The code: a file, relative to the configuration's folder. */
  readonly file: string;
  /** All of its secrets, by name. */
  readonly secrets?: { readonly [name: string]: string };
}

export interface DeclaredSource {
  readonly name: string;
  readonly kind?: "web" | "mobile" | "server";
  readonly blockedEvents?: readonly string[];
  readonly rateLimit?: number;
  /** The name of a transformation. null: none. */
  readonly transformation?: string | null;
}

export interface DeclaredDestination {
  readonly name: string;
  /** Default: `webhooks`. */
  readonly type?: string;
  /** Names of sources. Default: none. */
  readonly sources?: readonly string[];
  readonly settings?: { readonly [name: string]: unknown };
  readonly enabled?: boolean;
  readonly filters?: readonly object[];
  /** 60_000 to 604_800_000. */
  readonly retryForMs?: number;
  /** 60_000 to 604_800_000. */
  readonly notifyAfterMs?: number;
  /** The name of a transformation. null: none. */
  readonly transformation?: string | null;
}

export interface DeclaredAudience {
  readonly name: string;
  readonly condition: object;
  /** Names of destinations. Default: none. */
  readonly destinations?: readonly string[];
  readonly sync?: object;
  readonly trackEvents?: boolean;
}

const FIELDS = {
  transformations: ["name", "file", "secrets"],
  sources: ["name", "kind", "blockedEvents", "rateLimit", "transformation"],
  destinations: [
    "name",
    "type",
    "sources",
    "settings",
    "enabled",
    "filters",
    "retryForMs",
    "notifyAfterMs",
    "transformation",
  ],
  audiences: ["name", "condition", "destinations", "sync", "trackEvents"],
} as const;

type Environment = { readonly [name: string]: string | undefined };

/**
 * Checks the names of sections and fields, and replaces `${NAME}` with environment variables, so that secrets stay out of the
 * file. The collector validates the values.
 */
export function readDeclaredConfig(value: unknown, env: Environment): DeclaredConfig {
  if (!isPlainObject(value)) throw new CommandFailure("usage", "The configuration must be an object");
  const problems: string[] = Object.keys(value)
    .filter((key) => !(key in FIELDS))
    .map((key) => `${key}: unknown section, expected one of ${Object.keys(FIELDS).join(", ")}`);
  for (const [section, fields] of Object.entries(FIELDS))
    problems.push(...sectionProblems(section, value[section], fields));
  const resolved = problems.length === 0 ? fromEnvironment(value, env, "", problems) : value;
  if (problems.length > 0) throw new CommandFailure("usage", problems.join("\n"));
  return resolved as DeclaredConfig;
}

function sectionProblems(section: string, items: unknown, fields: readonly string[]): string[] {
  if (items === undefined) return [];
  if (!Array.isArray(items)) return [`${section}: must be a list`];
  const names = new Set<unknown>();
  return items.flatMap((item: unknown, index) => {
    const at = `${section}[${index}]`;
    if (!isPlainObject(item) || typeof item.name !== "string" || item.name === "")
      return [`${at}: must be an object with a name`];
    const duplicate = names.has(item.name) ? [`${at}: the name ${item.name} is used twice`] : [];
    names.add(item.name);
    const unknown = Object.keys(item).filter((key) => !fields.includes(key));
    return [
      ...duplicate,
      ...unknown.map((key) => `${at}.${key}: unknown field, expected one of ${fields.join(", ")}`),
    ];
  });
}

/** Replaces `${NAME}` in all strings. Adds a problem for each variable that is not set. */
function fromEnvironment(value: unknown, env: Environment, path: string, problems: string[]): unknown {
  if (typeof value === "string")
    return value.replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
      const found = env[name];
      if (found === undefined) problems.push(`${path}: the environment variable ${name} is not set`);
      return found ?? "";
    });
  if (Array.isArray(value))
    return value.map((item, index) => fromEnvironment(item, env, `${path}[${index}]`, problems));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      fromEnvironment(inner, env, path === "" ? key : `${path}.${key}`, problems),
    ]),
  );
}
