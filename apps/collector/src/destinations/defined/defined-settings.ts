import type { DestinationDefinition, SettingsSchema } from "@sluice/destination";
import type { SettingsIssue, SettingsResult } from "../destination.js";
import { readSettings, type SettingReader } from "../read-settings.js";
import type { SecretBox } from "../secret-box.js";

interface Settings {
  readonly [name: string]: unknown;
}

/** Settings by their schema, with secrets sealed, and by the definition's own check. */
export async function parseDefined(
  definition: DestinationDefinition<never>,
  input: unknown,
  previous: unknown,
  secrets: SecretBox,
): Promise<SettingsResult> {
  const { settings: schema } = definition;
  const before = previous as Settings | undefined;
  const read = await readSettings<Settings>(input ?? {}, before, {
    schema,
    readers: secretReaders(schema, before, secrets),
  });
  if (!read.ok) return read;
  const stored = read.settings as Settings;
  const issues = [...keptSecretIssues(schema, before, stored, input as Settings)];
  try {
    const { settings } = openedSettings(schema, stored, secrets);
    for (const { setting, message } of definition.check?.(settings as never) ?? [])
      issues.push({ path: `settings.${setting}`, code: "invalid_value", message });
  } catch (error) {
    // A secret that is kept was sealed with another key.
    issues.push({ path: "settings", code: "invalid_value", message: (error as Error).message });
  }
  return issues.length === 0 ? read : { ok: false, issues };
}

/** The settings without secrets: instead of each, whether it is set. */
export function describeDefined(schema: SettingsSchema, settings: unknown): Settings {
  const stored = settings as Settings;
  return Object.fromEntries(
    Object.entries(schema.properties).flatMap(([name, { secret }]) => {
      if (secret !== undefined) return [[`${name}Set`, stored[name] !== undefined]];
      return stored[name] === undefined ? [] : [[name, stored[name]]];
    }),
  );
}

/** The settings as the definition gets them, and the texts that nobody may see. Throws if a secret cannot be opened. */
export function openedSettings(
  schema: SettingsSchema,
  stored: unknown,
  secrets: SecretBox,
): { readonly settings: Settings; readonly secretTexts: readonly string[] } {
  const secretTexts: string[] = [];
  const entries = Object.entries(stored as Settings).map(([name, value]) => {
    if (schema.properties[name]?.secret === undefined) return [name, value] as const;
    const text = secrets.open(value as string);
    secretTexts.push(text);
    return [name, text] as const;
  });
  return { settings: Object.fromEntries(entries), secretTexts };
}

function secretReaders(
  { properties }: SettingsSchema,
  before: Settings | undefined,
  secrets: SecretBox,
): { readonly [name: string]: SettingReader<Settings> } {
  const secretNames = Object.keys(properties).filter((name) => properties[name]?.secret !== undefined);
  return Object.fromEntries(
    secretNames.map((name) => {
      const isRequired = properties[name]?.required === true;
      return [name, secretReader(name, before?.[name], isRequired, secrets)] as const;
    }),
  );
}

function secretReader(
  name: string,
  kept: unknown,
  isRequired: boolean,
  secrets: SecretBox,
): SettingReader<Settings> {
  return (value, refuse) => {
    if (value === undefined && kept !== undefined) return { [name]: kept };
    if (typeof value === "string" && value !== "") return { [name]: secrets.seal(value) };
    if (value !== undefined && value !== null)
      refuse(name, "invalid_value", `${name} must be a text that is not empty; null removes it`);
    else if (isRequired) refuse(name, "required", `${name} is required`);
    return {};
  };
}

/** A secret that was entered for one place must not be sent to another. */
function keptSecretIssues(
  { properties }: SettingsSchema,
  before: Settings | undefined,
  after: Settings,
  input: Settings | undefined,
): SettingsIssue[] {
  return Object.entries(properties).flatMap(([name, { secret }]) => {
    const isKept = before?.[name] !== undefined && input?.[name] === undefined;
    const moved = secret?.boundTo.find((other) => before?.[other] !== after[other]);
    if (!isKept || moved === undefined) return [];
    const message = `Enter ${name} again: ${moved} was changed`;
    return [{ path: `settings.${name}`, code: "required", message }];
  });
}
