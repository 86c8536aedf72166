import type { AdminClient } from "@sluice/admin-client";
import type { CatalogEntryView } from "@sluice/control-api";
import { type Command, Option } from "commander";
import { definedFields, readDuration, readInteger } from "../../arguments.js";
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

/** Adds options for the settings of a webhooks destination. `--set` and `--settings` take those of every type. */
export function withSettings(command: Command): Command {
  const choice = (flags: string, meaning: string, words: string[]) =>
    command.addOption(new Option(flags, meaning).choices(words));
  command
    .option(
      "--set <name=value...>",
      "settings of any type, see sluice destinations types; a list with commas; nothing behind = resets it",
    )
    .option("--webhook <url...>", "URLs of a webhooks destination, at most five")
    .option("--header <name:value...>", "headers to send with each request")
    .option("--batch <messages>", "send at most so many messages in a request", (text) =>
      readInteger("--batch", text, 1, 1_000),
    )
    .option("--batch-age <duration>", "how long the first message of a batch waits for others", (text) =>
      readDuration("--batch-age", text),
    )
    .option("--secret <secret>", "sign each request with it (X-Signature and webhook-signature)");
  choice(
    "--success <rule>",
    "any: delivered if one URL accepts the message; each: every URL has its own outcome",
    ["any", "each"],
  );
  choice("--order <order>", "user: a failing message holds back later ones of the same user", [
    "none",
    "user",
  ]);
  choice("--payload <shape>", "the body: the full message, or the classic fields only", ["full", "classic"]);
  return command.option(
    "--ca-file <file>",
    "a PEM file on the collector's machine with certificate authorities to trust in addition to the public ones",
  );
}

/** The settings that were given, over those of `--settings`, as the control API takes them. */
export function readSettings(
  options: { readonly [name: string]: unknown },
  given: unknown,
): { readonly [name: string]: unknown } | undefined {
  const { webhook, header, secret, caFile, success, order, payload, batch, batchAge } = options;
  const headers = header && Object.fromEntries((header as string[]).map(readHeader));
  const settings = definedFields({
    webhooks: (webhook as string[] | undefined)?.map((url) => definedFields({ url, headers })),
    // False for `--no-secret`.
    sharedSecret: secret === false ? null : secret,
    caFile,
    // False for `--no-batch`.
    batch: batch === false ? null : batchOf(batch, batchAge),
    success,
    order,
    payload,
  });
  const all = { ...(given as object | undefined), ...settings };
  return Object.keys(all).length === 0 ? undefined : all;
}

function batchOf(maxMessages: unknown, maxAgeMs: unknown): object | undefined {
  return maxMessages === undefined && maxAgeMs === undefined
    ? undefined
    : definedFields({ maxMessages, maxAgeMs });
}

function readHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  if (colon < 1) throw new CommandFailure("usage", `--header must be NAME:VALUE, got ${text}`);
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}
