import { type Command, Option } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readJsonObject } from "../../arguments/json-object.js";
import { CommandFailure } from "../../failures/exit-codes.js";

export interface SettingsOptions {
  readonly webhook?: string[];
  readonly header?: string[];
  readonly secret?: string;
  readonly caFile?: string;
  readonly success?: string;
  readonly order?: string;
  readonly payload?: string;
  readonly settings?: string;
}

/** Adds the options for a destination's settings. */
export function withSettings(command: Command): Command {
  return command
    .option("--webhook <url...>", "URLs of a webhooks destination, at most five")
    .option("--header <name:value...>", "headers to send with each request")
    .option("--secret <secret>", "sign each request with it (X-Signature and webhook-signature)")
    .addOption(
      new Option(
        "--success <rule>",
        "any: delivered if one URL accepts the message; each: every URL has its own outcome",
      ).choices(["any", "each"]),
    )
    .addOption(
      new Option("--order <order>", "user: a failing message holds back later ones of the same user").choices(
        ["none", "user"],
      ),
    )
    .addOption(
      new Option("--payload <shape>", "the body: the full message, or the classic fields only").choices([
        "full",
        "classic",
      ]),
    )
    .option(
      "--ca-file <file>",
      "a PEM file on the collector's machine with certificate authorities to trust in addition to the public ones",
    )
    .option(
      "--settings <json>",
      "the type's settings as a JSON object; see `npx sluice destinations catalog --json`",
    );
}

/** The settings that were given, as the control API takes them. */
export function readSettings(options: SettingsOptions): { readonly [name: string]: unknown } {
  const { webhook, header, secret, caFile, success, order, payload, settings } = options;
  const headers = header === undefined ? undefined : Object.fromEntries(header.map(readHeader));
  return {
    ...(settings === undefined ? {} : readJsonObject("--settings", settings)),
    ...definedFields({
      webhooks: webhook?.map((url) => definedFields({ url, headers })),
      sharedSecret: secret,
      caFile,
      success,
      order,
      payload,
    }),
  };
}

function readHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  if (colon < 1) throw new CommandFailure("usage", `--header must be NAME:VALUE, got ${text}`);
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}
