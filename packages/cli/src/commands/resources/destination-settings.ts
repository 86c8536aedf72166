import { type Command, Option } from "commander";
import { definedFields, readDuration, readInteger } from "../../arguments.js";
import { CommandFailure } from "../../failures.js";

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
