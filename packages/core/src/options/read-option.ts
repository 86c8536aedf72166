import type { JsonObject } from "@sluice/protocol";
import { ConfigError, reasonOf } from "../errors.js";

/** Calls `read`, which reads options. What a getter or a proxy of the caller throws becomes a `ConfigError`. */
export function readOptions<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw isConfigError(error)
      ? error
      : new ConfigError("options", "must be readable without an error", reasonOf(error));
  }
}

function isConfigError(error: unknown): boolean {
  try {
    return error instanceof ConfigError;
  } catch {
    return false;
  }
}

/** Options as the caller gave them, of unknown types. */
export type Given = { readonly [name: string]: unknown };

/** Reads an option that is an integer from `min` to `max`. Throws `ConfigError`, like all functions of this file. */
export function integer(
  given: Given,
  option: string,
  fallback: number,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  const value = given[option] ?? fallback;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `>= ${min}` : `from ${min} to ${max}`;
    throw new ConfigError(option, `must be an integer ${range}`, value);
  }
  return value;
}

export function flag(given: Given, option: string, fallback: boolean): boolean {
  const value = given[option] ?? fallback;
  if (typeof value !== "boolean") throw new ConfigError(option, "must be true or false", value);
  return value;
}

export function callback(given: Given, option: string): unknown {
  const value = given[option];
  if (value !== undefined && value !== null && typeof value !== "function") {
    throw new ConfigError(option, "must be a function", value);
  }
  return value ?? undefined;
}

/** Reads an option that is a function, or a list of functions. */
export function callbacks(given: Given, option: string): readonly unknown[] {
  const value = given[option] ?? [];
  const list: readonly unknown[] = Array.isArray(value) ? [...value] : [value];
  for (const one of list) {
    if (typeof one !== "function")
      throw new ConfigError(option, "must be a function or an array of functions", one);
  }
  return list;
}

export function jsonObject(given: Given, option: string): JsonObject | undefined {
  const value = given[option];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    throw new ConfigError(option, "must be an object", value);
  // A copy, so that later changes of the caller's object do not change messages.
  return { ...value };
}

/** The name under which an option with an alias was given. Giving both is an error, because it is unclear which one is meant. */
export function oneOf<Name extends string>(given: Given, option: Name, alias: Name): Name {
  if (given[alias] === undefined) return option;
  if (given[option] !== undefined)
    throw new ConfigError(alias, `is an alias of \`${option}\`: give one of the two`, given[alias]);
  return alias;
}
