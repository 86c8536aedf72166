import { isPlainObject } from "@sluice/protocol";
import { CommandFailure } from "../../failures/exit-codes.js";

/** What `sluice.config.json` or `sluice.config.ts` declares. Things are known by their names. */
export interface DeclaredConfig {
  readonly sources?: readonly DeclaredSource[];
  readonly destinations?: readonly DeclaredDestination[];
  readonly audiences?: readonly DeclaredAudience[];
}

export interface DeclaredSource {
  readonly name: string;
  readonly kind?: "web" | "mobile" | "server";
  readonly blockedEvents?: readonly string[];
  readonly rateLimit?: number;
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
  sources: ["name", "kind", "blockedEvents", "rateLimit"],
  destinations: ["name", "type", "sources", "settings", "enabled", "filters"],
  audiences: ["name", "condition", "destinations", "sync", "trackEvents"],
} as const;

/**
 * Checks what a file declares, and puts environment variables in the place of `${NAME}`: secrets stay out of the file.
 * What the values may be is for the collector to say.
 */
export function readDeclaredConfig(
  value: unknown,
  env: { readonly [name: string]: string | undefined },
): DeclaredConfig {
  const problems: string[] = [];
  if (!isPlainObject(value)) throw new CommandFailure("usage", "The configuration must be an object");
  for (const key of Object.keys(value))
    if (!(key in FIELDS))
      problems.push(`${key}: there is no such section; there are ${Object.keys(FIELDS).join(", ")}`);
  for (const [section, fields] of Object.entries(FIELDS)) {
    const items = value[section];
    if (items === undefined) continue;
    if (!Array.isArray(items)) {
      problems.push(`${section}: it must be a list`);
      continue;
    }
    const names = new Set<unknown>();
    items.forEach((item: unknown, index) => {
      const at = `${section}[${index}]`;
      if (!isPlainObject(item) || typeof item.name !== "string" || item.name === "") {
        problems.push(`${at}: it must be an object with a name`);
        return;
      }
      if (names.has(item.name)) problems.push(`${at}: another one is called ${item.name} too`);
      names.add(item.name);
      for (const key of Object.keys(item))
        if (!(fields as readonly string[]).includes(key))
          problems.push(`${at}.${key}: there is no such field; there are ${fields.join(", ")}`);
    });
  }
  const resolved = problems.length === 0 ? fromEnvironment(value, env, "", problems) : value;
  if (problems.length > 0) throw new CommandFailure("usage", problems.join("\n"));
  return resolved as DeclaredConfig;
}

function fromEnvironment(
  value: unknown,
  env: { readonly [name: string]: string | undefined },
  path: string,
  problems: string[],
): unknown {
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
