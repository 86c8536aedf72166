import type { AdminClient } from "@sluice/admin-client";
import type { CatalogEntryView } from "@sluice/control-api";
import { CommandFailure } from "../../failures.js";
import { terminalText } from "../../terminal/terminal-text.js";

/** The part of a setting's schema that is shown and read here. */
interface Setting {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly required?: boolean;
  readonly secret?: object;
}

/** A type of destination with its settings, as `--set` takes them. */
export function typeText(entry: CatalogEntryView): string {
  const { type, name, description, sources, historical } = entry;
  const takes = `takes messages of ${sources.join(", ")} sources${historical ? "" : ", and no old ones"}`;
  const lines = Object.entries(settingsOf(entry)).map(([setting, schema]) => settingLine(setting, schema));
  return [`${type} (${name}): ${[description, takes].filter(Boolean).join("; ")}`, ...lines]
    .map(terminalText)
    .join("\n");
}

function settingLine(name: string, { title, description, ...schema }: Setting): string {
  const rules = [
    schema.enum?.join(" | ") ?? [schema.type ?? "object"].flat().join(" or "),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
    ...(schema.required === true ? ["required"] : []),
    ...(schema.secret === undefined ? [] : ["secret"]),
  ];
  const words = [title, description].filter(Boolean).join(". ");
  return `  ${name}  ${rules.join(", ")}${words === "" ? "" : `  ${words}`}`;
}

/** The settings of `--set`, read as their type in the catalog says. */
export async function readSet(
  client: AdminClient,
  type: string,
  given: unknown,
): Promise<{ readonly [name: string]: unknown }> {
  if (given === undefined) return {};
  const { items } = await client.call("GET /catalog", {});
  const entry = items.find((one) => one.type === type);
  if (entry === undefined)
    throw new CommandFailure("usage", `There is no type ${type}: see sluice destinations types`);
  const settings = settingsOf(entry);
  return Object.fromEntries((given as readonly string[]).map((text) => readOne(text, settings, type)));
}

function readOne(
  text: string,
  settings: { readonly [name: string]: Setting },
  type: string,
): [name: string, value: unknown] {
  const equals = text.indexOf("=");
  const name = equals < 1 ? text : text.slice(0, equals);
  const setting = settings[name];
  if (equals < 1) throw new CommandFailure("usage", `--set must be NAME=VALUE, got ${text}`);
  if (setting === undefined) {
    const names = Object.keys(settings).join(", ");
    throw new CommandFailure("usage", `${type} has no setting ${name}. It has ${names}`);
  }
  return [name, settingValue(text.slice(equals + 1), setting)];
}

/** What is no value of the type is passed on as a text: the collector says what is wrong. */
function settingValue(text: string, { type }: Setting): unknown {
  const types = [type ?? "string"].flat();
  if (text === "") return null;
  if (types.includes("object")) return parsedJson(text);
  if (types.includes("array")) return text.split(",").map((item) => item.trim());
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumeric = types.includes("integer") || types.includes("number");
  return isNumeric && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function settingsOf({ settingsSchema }: CatalogEntryView): { readonly [name: string]: Setting } {
  return (settingsSchema as { properties?: { readonly [name: string]: Setting } }).properties ?? {};
}
