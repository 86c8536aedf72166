import { allPages } from "@sluice/admin-client";
import type { DestinationPatch, DestinationView } from "@sluice/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { type DestinationHealth, healthWord, readHealth } from "../../connection/destination-health.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip, terminalText } from "../../terminal/terminal-text.js";
import { stateWord } from "../messages/message-lines.js";
import { settingsLines, webhooksOf } from "./destination-settings.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

interface SettingsOptions {
  readonly webhook?: string[];
  readonly header?: string[];
  readonly secret?: string;
  readonly caFile?: string;
  readonly success?: string;
  readonly order?: string;
  readonly payload?: string;
  readonly settings?: { readonly [name: string]: unknown };
}

export function destinationsCommand(io: Io): Command {
  const command = newGroup("destinations", "list, make, change, test and delete destinations");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));
  const find = async (wanted: string, options: Options) => {
    const client = await connect(options, io);
    const destination = await findByName("destination", wanted, (page) => client.destinations.list(page));
    return { client, destination };
  };
  const withSettings = (inner: Command): Command =>
    inner
      .option("--webhook <url...>", "URLs of a webhooks destination, at most five")
      .option("--header <name:value...>", "headers that are sent with each request")
      .option("--secret <secret>", "signs each request (X-Signature and webhook-signature)")
      .addOption(
        new Option("--success <rule>", "delivered where any URL took it, or each has its own").choices([
          "any",
          "each",
        ]),
      )
      .addOption(
        new Option("--order <order>", "user: a failing message holds back the user's later ones").choices([
          "none",
          "user",
        ]),
      )
      .addOption(
        new Option("--payload <shape>", "the body: all there is of a message, or the classic fields").choices(
          ["full", "classic"],
        ),
      )
      .option(
        "--ca-file <file>",
        "a PEM file on the collector's machine with authorities to trust beside the public ones",
      )
      .option(
        "--settings <json>",
        "the type's settings as JSON; see `npx sluice destinations catalog --json`",
        readObject,
      );

  command.addCommand(
    sub("list", "all destinations, oldest first").action(async (options: Options) => {
      const client = await connect(options, io);
      const destinations: DestinationView[] = [];
      for await (const one of allPages((cursor) => client.destinations.list({ cursor })))
        destinations.push(one);
      await show(io, options.json, { items: destinations }, () => destinationsTable(destinations, io));
    }),
  );
  command.addCommand(
    sub("catalog", "the types of destination that there are").action(async (options: Options) => {
      const catalog = await (await connect(options, io)).catalog.list();
      await show(io, options.json, catalog, () =>
        table(
          ["TYPE", "NAME", "SOURCES", "HISTORICAL"],
          catalog.items.map(({ type, name, sources, historical }) => [
            type,
            name,
            sources.join(", "),
            historical ? "yes" : "no",
          ]),
          io.style.bold,
        ),
      );
    }),
  );
  command.addCommand(
    sub("get", "one destination; of its secrets only that they are set")
      .argument("<destination>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { destination } = await find(wanted, options);
        await show(io, options.json, destination, () => destinationText(destination, io));
      }),
  );
  command.addCommand(
    withSettings(sub("create", "make a destination; it gets its sources' messages from now on"))
      .option("--type <type>", "a type of the catalog", "webhooks")
      .option("--name <name>", "its own name, which `integrations` can use")
      .option("--source <source...>", "ids or names of the sources to connect (default: all)")
      .option("--disabled", "make it without enabling it")
      .action(
        async (
          options: Options &
            SettingsOptions & { type: string; name?: string; source?: string[]; disabled?: boolean },
        ) => {
          const client = await connect(options, io);
          const sourceIds: string[] = [];
          if (options.source === undefined)
            for await (const { id } of allPages((cursor) => client.sources.list({ cursor })))
              sourceIds.push(id);
          for (const wanted of options.source ?? [])
            sourceIds.push((await findByName("source", wanted, (page) => client.sources.list(page))).id);
          const destination = await client.destinations.create({
            type: options.type,
            ...(options.name === undefined ? {} : { name: options.name }),
            sourceIds,
            settings: settingsOf(options),
            enabled: options.disabled !== true,
          });
          await show(io, options.json, destination, () => destinationText(destination, io));
        },
      ),
  );
  command.addCommand(
    withSettings(sub("update", "rename a destination, change its settings or its sources"))
      .argument("<destination>", "its id or name")
      .option("--name <name>", "its new name")
      .option("--source <source...>", "ids or names of the sources it is connected to from now on")
      .option("--no-secret", "take the secret out: requests are not signed any more")
      .action(
        async (
          wanted: string,
          options: Options &
            Omit<SettingsOptions, "secret"> & { name?: string; source?: string[]; secret: string | boolean },
        ) => {
          const { client, destination } = await find(wanted, options);
          const sourceIds: string[] = [];
          for (const name of options.source ?? [])
            sourceIds.push((await findByName("source", name, (page) => client.sources.list(page))).id);
          const { secret, ...rest } = options;
          const settings = {
            ...settingsOf({ ...rest, ...(typeof secret === "string" ? { secret } : {}) }),
            ...(secret === false ? { sharedSecret: null } : {}),
          };
          const changed = await client.destinations.patch(destination.id, {
            ...(options.name === undefined ? {} : { name: options.name }),
            ...(options.source === undefined ? {} : { sourceIds }),
            ...(Object.keys(settings).length === 0 ? {} : { settings }),
            version: destination.version,
          });
          await show(io, options.json, changed, () => destinationText(changed, io));
        },
      ),
  );
  for (const [name, enabled, summary] of [
    ["enable", true, "enable a destination, and its URLs that answered 410: what was queued goes on"],
    ["disable", false, "disable a destination: it keeps nothing new, what is queued stays"],
  ] as const)
    command.addCommand(
      sub(name, summary)
        .argument("<destination>", "its id or name")
        .action(async (wanted: string, options: Options) => {
          const { client, destination } = await find(wanted, options);
          const changed = await client.destinations.patch(destination.id, {
            enabled,
            ...(enabled ? urlsAgain(destination) : {}),
          });
          await show(io, options.json, changed, () => destinationText(changed, io));
        }),
    );
  command.addCommand(
    sub("test", "send one made-up message through the real path and show how it ends")
      .argument("<destination>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { client, destination } = await find(wanted, options);
        const sent = await client.destinations.test(destination.id);
        await show(io, options.json, sent, () =>
          [
            `${stateWord(sent.state, io.style)} ${terminalText(sent.reason)}`,
            ...sent.attempts.map(
              ({ url, status, error, latencyMs, response }) =>
                `  ${terminalText(url)}  ${status ?? terminalText(error?.message ?? "no answer")}  ${Math.round(latencyMs)} ms${sent.state !== "delivered" && response ? `  ${clip(terminalText(response), 200)}` : ""}`,
            ),
            "",
          ].join("\n"),
        );
        if (sent.state !== "delivered")
          throw new CommandFailure("partly", `The test message was not delivered: ${sent.reason}`);
      }),
  );
  command.addCommand(
    sub(
      "status",
      "how a destination does now: delivering, failing, backing off, URL disabled, partly disabled or disabled; how much waits, and why",
    )
      .argument("<destination>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { client, destination } = await find(wanted, options);
        const health = await readHealth(client, destination);
        await show(io, options.json, health, () => healthText(health, io));
      }),
  );
  command.addCommand(
    sub("delete", "delete a destination with everything kept about its deliveries")
      .argument("<destination>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const { client, destination } = await find(wanted, options);
        await confirmRemoval(
          {
            what: `This deletes the destination ${destination.name} (${destination.id}) with its deliveries`,
            question: `Delete the destination ${destination.name} (${destination.id}) with its deliveries?`,
            declined: "Nothing was deleted.",
            isYes: options.yes === true,
          },
          io,
        );
        await client.destinations.delete(destination.id);
        await show(io, options.json, { deleted: destination.id }, () => `deleted ${destination.id}\n`);
      }),
  );
  exampleOfEach(command, {
    list: "sluice destinations list",
    catalog: "sluice destinations catalog",
    get: 'sluice destinations get "My webhook"',
    create: "sluice destinations create --name Warehouse --webhook https://example.com/hook",
    update: "sluice destinations update Warehouse --webhook https://example.com/hook2",
    enable: "sluice destinations enable Warehouse",
    disable: "sluice destinations disable Warehouse",
    test: "sluice destinations test Warehouse",
    status: "sluice destinations status Warehouse",
    delete: "sluice destinations delete Warehouse --yes",
  });
  return examples(command, [
    [
      "A signed webhook for every source",
      "sluice destinations create --webhook https://example.com/hook --secret …",
    ],
    ["Does it arrive?", "sluice destinations test Webhooks"],
  ]);
}

function settingsOf({
  webhook,
  header,
  secret,
  caFile,
  settings,
  success,
  order,
  payload,
}: SettingsOptions): {
  [name: string]: unknown;
} {
  const headers = Object.fromEntries((header ?? []).map(readHeader));
  return {
    ...settings,
    ...(webhook === undefined
      ? {}
      : { webhooks: webhook.map((url) => (header === undefined ? { url } : { url, headers })) }),
    ...(secret === undefined ? {} : { sharedSecret: secret }),
    ...(caFile === undefined ? {} : { caFile }),
    ...(success === undefined ? {} : { success }),
    ...(order === undefined ? {} : { order }),
    ...(payload === undefined ? {} : { payload }),
  };
}

/** URLs that are saved again are called again; the headers' values, which are not shown, stay. */
function urlsAgain({ settings, version }: DestinationView): DestinationPatch {
  if (webhooksOf(settings).every(({ disabled }) => disabled === undefined)) return {};
  return { settings: { webhooks: settings.webhooks }, version };
}

function readHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  if (colon < 1) throw new CommandFailure("usage", `--header must be NAME:VALUE, got ${text}`);
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}

function readObject(text: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as { [name: string]: unknown };
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError("It must be a JSON object.");
}

/** One destination whole, and what to do next. */
function destinationText(destination: DestinationView, io: Io): string {
  const next = `npx sluice destinations test ${shellWord(destination.name)}`;
  return `${destinationsTable([destination], io)}${settingsLines(destination.settings)}${io.style.dim(`Try it: ${terminalText(next)}`)}\n`;
}

function healthText(health: DestinationHealth, io: Io): string {
  const { state, behind, retries, nextAttemptAt = "", lastError = "", disabledUrls } = health;
  const row = [healthWord(state), behind, retries, nextAttemptAt, lastError];
  const stopped = disabledUrls.map(
    (url) =>
      `${terminalText(url)} answered 410 and is called no more until \`npx sluice destinations enable\`, or the URLs are saved again\n`,
  );
  return `${table(["STATE", "BEHIND", "RETRIES WAITING", "NEXT ATTEMPT", "LAST ERROR"], [row], io.style.bold)}${stopped.join("")}`;
}

function destinationsTable(destinations: readonly DestinationView[], io: Io): string {
  return table(
    ["ID", "NAME", "TYPE", "ENABLED", "SOURCES"],
    destinations.map(({ id, name, type, enabled, sourceIds }) => [
      id,
      name,
      type,
      enabled ? "yes" : "no",
      sourceIds.join(" "),
    ]),
    io.style.bold,
  );
}
