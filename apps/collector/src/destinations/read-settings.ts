import type { SettingSchema, SettingsSchema } from "@sluice/destination";
import { isPlainObject } from "@sluice/protocol";
import type { SettingsIssue, SettingsResult } from "./destination.js";

export type RefuseSetting = (path: string, code: string, message: string) => void;

/**
 * Reads a setting that the schema alone cannot check, such as a secret that must be sealed. `value` is undefined if the
 * setting is absent, and null to remove it. Returns the fields to store; refused values are reported by `refuse`.
 */
export type SettingReader<Stored> = (
  value: unknown,
  refuse: RefuseSetting,
) => Partial<Stored> | Promise<Partial<Stored>>;

export interface ReadOptions<Stored> {
  readonly schema: SettingsSchema;
  readonly readers?: { readonly [name: string]: SettingReader<Stored> };
}

/**
 * Checks settings against their schema and completes them: an absent setting keeps the previous value or else gets its
 * default, and null resets it to the default. Every setting that is wrong is an issue with its path.
 */
export async function readSettings<Stored extends object>(
  input: unknown,
  previous: Stored | undefined,
  { schema, readers = {} }: ReadOptions<Stored>,
): Promise<SettingsResult> {
  const issues: SettingsIssue[] = [];
  const refuse: RefuseSetting = (path, code, message) => {
    issues.push({ path: path === "" ? "settings" : `settings.${path}`, code, message });
  };
  if (!isPlainObject(input)) {
    refuse("", "not_an_object", "The settings must be an object");
    return { ok: false, issues };
  }
  for (const name of Object.keys(input))
    if (!Object.hasOwn(schema.properties, name))
      refuse(name, "unknown_setting", `There is no setting ${name}`);
  const settings: Partial<Stored> = {};
  for (const [name, setting] of Object.entries(schema.properties)) {
    const read = readers[name] ?? schemaReader<Stored>(name, setting, previous);
    Object.assign(settings, await read(input[name], refuse));
  }
  return issues.length === 0 ? { ok: true, settings } : { ok: false, issues };
}

/** Reads settings that only make sense together, such as `batch`: checked, completed and kept like those around them. */
function groupReader<Stored extends object>(
  name: string,
  properties: SettingsSchema["properties"],
  previous: Stored | undefined,
): SettingReader<Stored> {
  return async (given, refuse) => {
    const kept = previous?.[name as keyof Stored] as object | undefined;
    if (given === undefined) return (kept === undefined ? {} : { [name]: kept }) as Partial<Stored>;
    if (given === null) return {};
    const read = await readSettings<object>(given, kept, {
      schema: { type: "object", additionalProperties: false, properties },
    });
    if (read.ok) return { [name]: read.settings } as Partial<Stored>;
    for (const { path, code, message } of read.issues) refuse(path.replace("settings", name), code, message);
    return {};
  };
}

/** Reads a setting that its schema describes completely. */
function schemaReader<Stored extends object>(
  name: string,
  setting: SettingSchema,
  previous: Stored | undefined,
): SettingReader<Stored> {
  if (setting.properties !== undefined) return groupReader(name, setting.properties, previous);
  return (given, refuse) => {
    const kept = previous?.[name as keyof Stored];
    // Not checked again: a stored value whose rule has changed must not block the change of another setting.
    if (given === undefined && kept !== undefined) return { [name]: kept } as Partial<Stored>;
    const value = given ?? setting.default;
    if (value === undefined) {
      if (setting.required === true) refuse(name, "required", `${name} is required`);
      return {};
    }
    if (isValid(setting, value)) return { [name]: value } as Partial<Stored>;
    refuse(name, "invalid_value", `${name} must be ${setting.rule ?? ruleOf(setting)}`);
    return {};
  };
}

function isValid({ type, enum: words, pattern, ...limits }: SettingSchema, value: unknown): boolean {
  const types = typeof type === "string" ? [type] : type;
  if (typeof value === "number") {
    const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = limits;
    const isOfType = types.includes("number") || (types.includes("integer") && Number.isSafeInteger(value));
    return isOfType && value >= minimum && value > exclusiveMinimum && value <= maximum;
  }
  if (Array.isArray(value))
    return (
      types.includes("array") &&
      value.length > 0 &&
      value.every((item) => typeof item === "string" && new RegExp(pattern ?? "", "u").test(item))
    );
  if (typeof value !== "string") return types.includes(typeof value);
  return types.includes("string") && (words?.includes(value) ?? new RegExp(pattern ?? "", "u").test(value));
}

/** The values that a setting accepts, in words. */
function ruleOf({ type, enum: words, minimum, exclusiveMinimum, maximum }: SettingSchema): string {
  if (words !== undefined) return `one of ${words.join(", ")}`;
  if (type === "boolean") return "true or false";
  if (type === "string") return "a string";
  if (type === "array") return "a list of at least one text";
  const noun = type === "integer" ? "an integer" : "a number";
  if (exclusiveMinimum !== undefined) return `${noun} above ${exclusiveMinimum}`;
  if (maximum === undefined) return `${noun} of at least ${minimum}`;
  return `${noun} from ${minimum} to ${maximum}`;
}
