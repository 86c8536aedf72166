import { DESTINATION_INTERFACE, type DestinationDefinition } from "./definition.js";
import type { SettingSchema } from "./settings.js";

/** A definition together with the version of the interface that it was written for: what a package exports. */
export interface DefinedDestination {
  readonly interfaceVersion: number;
  // Its settings are checked by its own schema before it gets them.
  readonly definition: DestinationDefinition<never>;
}

/**
 * Checks a definition. Make it the default export of your package. Throws a TypeError that says what is wrong.
 *
 * @example
 * export default defineDestination({ type: "log-file", name: "Log file", settings: …, open: … });
 */
export function defineDestination<Settings extends object>(
  definition: DestinationDefinition<Settings>,
): DefinedDestination {
  const problem = problemOf(definition);
  if (problem !== undefined) throw new TypeError(`This destination cannot be used: ${problem}`);
  return { interfaceVersion: DESTINATION_INTERFACE, definition: definition as DestinationDefinition<never> };
}

/** Commands and numbers of a path, and so no markup. */
const ICON = /^[Mm][MmLlHhVvCcSsQqTtAaZz0-9eE .,+-]{1,999}$/;

export function isIcon(value: unknown): value is string {
  return typeof value === "string" && ICON.test(value);
}

/** What is wrong with a definition, for callers without types too. */
function problemOf<Settings extends object>({
  type,
  name,
  icon,
  settings,
  takesDeletions,
  open,
}: DestinationDefinition<Settings>): string | undefined {
  if (typeof type !== "string" || !/^[a-z][a-z0-9-]{0,49}$/.test(type))
    return `type must be 1 to 50 small letters, digits and "-", the first a letter, got ${JSON.stringify(type)}`;
  if (typeof name !== "string" || name.trim() === "") return "name must be a text";
  if (icon !== undefined && !isIcon(icon))
    return "icon must be the d of an SVG path: a text of commands and numbers, at most 1,000 characters";
  if (typeof open !== "function") return "open must be a function";
  if (takesDeletions !== undefined && !["message", "erase", "none"].includes(takesDeletions))
    return `takesDeletions must be message, erase or none, got ${JSON.stringify(takesDeletions)}`;
  if (settings?.type !== "object" || typeof settings.properties !== "object")
    return 'settings must be a schema with type "object" and properties';
  const names = Object.keys(settings.properties);
  return Object.entries(settings.properties)
    .map(([setting, schema]) => settingProblem(setting, schema, names))
    .find((problem) => problem !== undefined);
}

function settingProblem(
  name: string,
  { title, type, pattern, secret, properties = {} }: SettingSchema,
  all: readonly string[],
): string | undefined {
  if (typeof title !== "string" || type === undefined)
    return `the setting ${name} must have a title and a type`;
  if (pattern !== undefined && !isPattern(pattern))
    return `the pattern of ${name} is not a regular expression`;
  const inner = Object.entries(properties).map(([one, schema]) =>
    schema.secret === undefined
      ? settingProblem(`${name}.${one}`, schema, all)
      : `the secret ${name}.${one} must not be in a group`,
  );
  const problem = inner.find((one) => one !== undefined);
  if (problem !== undefined) return problem;
  const unknown = secret?.boundTo.find((other) => !all.includes(other));
  return unknown === undefined ? undefined : `the secret ${name} is bound to ${unknown}, which is no setting`;
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
