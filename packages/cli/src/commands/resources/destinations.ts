import type { AdminClient } from "@sluice/admin-client";
import type { DestinationPatch, DestinationView } from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readDuration } from "../../arguments/numbers.js";
import { collect } from "../../connection/collect.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { findIds } from "../../connection/find-by-name.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { Finding } from "../../failures/exit-codes.js";
import { confirm } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { readSettings, type SettingsOptions, withSettings } from "./destination-options.js";
import { statusCommand, testCommand } from "./destination-status.js";
import {
  destinationsTable,
  destinationText,
  type ListedDestination,
  webhooksOf,
} from "./destination-text.js";
import { type ManagedResource, type ResourceCommands, resourceCommands } from "./managed-resource.js";

const DESTINATIONS: ManagedResource<ListedDestination> = {
  noun: "destination",
  argument: "destination",
  list: (client, page) => client.destinations.list(page),
  delete: (client, id) => client.destinations.delete(id),
  table: destinationsTable,
  more: withHealth,
  details: destinationText,
};

async function withHealth(
  client: AdminClient,
  items: readonly ListedDestination[],
): Promise<readonly ListedDestination[]> {
  const [{ destinations }, all] = await Promise.all([
    client.health(),
    collect((cursor) => client.sources.list({ cursor })),
  ]);
  const nameOf = new Map(all.map(({ id, name }) => [id, name]));
  return items.map((item) => {
    const sources = item.sourceIds.map((id) => nameOf.get(id) ?? id);
    const found = destinations.find(({ destinationId }) => destinationId === item.id);
    return found === undefined
      ? { ...item, sources }
      : { ...item, sources, health: found.health, reason: found.reason };
  });
}

export function destinationsCommand(io: Io): Command {
  const commands = resourceCommands(DESTINATIONS, io);
  const group = newGroup("destinations", "manage and test destinations")
    .addCommand(commands.list("list destinations with their health, URLs and sources, oldest first"))
    .addCommand(catalogCommand(io))
    .addCommand(commands.get("show a destination and its settings, without secrets"))
    .addCommand(createCommand(commands, io))
    .addCommand(updateCommand(commands))
    .addCommand(enableCommand(commands, io))
    .addCommand(
      commands.change(
        "disable",
        "disable a destination; it gets no new messages and keeps its queue",
        (client, item) => client.destinations.patch(item.id, { enabled: false }),
      ),
    )
    .addCommand(testCommand(commands, io))
    .addCommand(statusCommand(commands, io))
    .addCommand(
      commands.remove("delete a destination with its deliveries and retries", {
        verb: "delete",
        consequence: " with its deliveries",
      }),
    );
  subcommandExamples(group, {
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
  return examples(group, [
    [
      "A signed webhook for all sources",
      "sluice destinations create --webhook https://example.com/hook --secret …",
    ],
    ["Check that it accepts messages", "sluice destinations test Webhooks"],
  ]);
}

interface EnableOptions extends CommandOptions {
  readonly yes?: boolean;
  readonly skipBacklog?: boolean;
}

function enableCommand({ forOne, showItem }: ResourceCommands<ListedDestination>, io: Io): Command {
  return forOne<EnableOptions>(
    "enable",
    "enable a destination and its URLs that responded with 410; what waits for it is sent",
    async ({ client, item }, options) => {
      const { waiting } = await client.destinations.status(item.id);
      const skips = options.skipBacklog === true && !item.enabled;
      if (!item.enabled && !skips && waiting > 0) await agreeToSend(item, waiting, options, io);
      const changed = await client.destinations.patch(item.id, {
        enabled: true,
        ...(skips ? { backlog: "skip" as const } : {}),
        ...enabledUrls(item),
      });
      if (skips) io.err(`${plural(waiting, "message", "messages")} will be skipped\n`);
      await showItem(changed, options);
    },
  )
    .option("--skip-backlog", "skip the messages that wait instead of sending them")
    .option("--yes", "send the messages that wait without asking");
}

/** Asks on a terminal whether what waits may be sent, and only says so elsewhere. */
async function agreeToSend(
  { name }: ListedDestination,
  waiting: number,
  { yes }: EnableOptions,
  io: Io,
): Promise<void> {
  const messages = plural(waiting, "message", "messages");
  if (yes === true || !io.canAsk) {
    io.err(terminalText(`${messages} that waited for ${name} will be sent now`));
    io.err("\n");
    return;
  }
  const question = `${messages} waited for ${name} and will be sent now (--skip-backlog skips them). Enable it?`;
  if (!(await confirm(terminalText(question), io))) throw new Finding("failed", "Nothing was changed.");
}

function catalogCommand(io: Io): Command {
  return connectedCommand("catalog", "list the destination types").action(async (options: CommandOptions) => {
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
  });
}

interface CreateOptions extends CommandOptions, SettingsOptions {
  readonly type: string;
  readonly name?: string;
  readonly source?: string[];
  readonly disabled?: boolean;
  readonly retryFor?: string;
  readonly notifyAfter?: string;
}

function createCommand({ showItem }: ResourceCommands<ListedDestination>, io: Io): Command {
  return withSettings(
    connectedCommand("create", "create a destination; it receives messages that arrive from now on"),
  )
    .option("--type <type>", "a type from the catalog", "webhooks")
    .option("--name <name>", "its name; `integrations` in messages can refer to it")
    .option("--source <source...>", "ids or names of the sources to connect (default: all)")
    .option("--retry-for <duration>", RETRY_FOR)
    .option("--notify-after <duration>", NOTIFY_AFTER)
    .option("--disabled", "do not enable it yet")
    .action(async (options: CreateOptions) => {
      const { type, name, source, disabled } = options;
      const client = await connect(options, io);
      const sourceIds = await findIds("source", source, (page) => client.sources.list(page));
      const allSources = () => collect((cursor) => client.sources.list({ cursor }));
      const destination = await client.destinations.create({
        type,
        ...definedFields({ name }),
        sourceIds: sourceIds ?? (await allSources()).map(({ id }) => id),
        settings: readSettings(options),
        ...periodsOf(options),
        enabled: disabled !== true,
      });
      await showItem(destination, options);
    });
}

interface UpdateOptions extends CommandOptions, Omit<SettingsOptions, "secret"> {
  readonly name?: string;
  readonly source?: string[];
  readonly retryFor?: string;
  readonly notifyAfter?: string;
  /** False for `--no-secret`; true if neither option was given. */
  readonly secret: string | boolean;
}

function updateCommand({ forOne, showItem }: ResourceCommands<ListedDestination>): Command {
  const command = forOne<UpdateOptions>(
    "update",
    "change a destination: its name, settings, sources or retry window",
    async ({ client, item }, options) => {
      const { name, source, secret, retryFor, notifyAfter, ...rest } = options;
      const settings = {
        ...readSettings({ ...rest, ...(typeof secret === "string" ? { secret } : {}) }),
        ...(secret === false ? { sharedSecret: null } : {}),
      };
      const changed = await client.destinations.patch(item.id, {
        ...definedFields({
          name,
          sourceIds: await findIds("source", source, (page) => client.sources.list(page)),
          settings: Object.keys(settings).length === 0 ? undefined : settings,
        }),
        ...periodsOf({ ...definedFields({ retryFor, notifyAfter }) }),
        version: item.version,
      });
      await showItem(changed, options);
    },
  );
  return withSettings(command)
    .option("--name <name>", "a new name")
    .option("--source <source...>", "ids or names of the sources to connect; replaces the list")
    .option("--retry-for <duration>", RETRY_FOR)
    .option("--notify-after <duration>", NOTIFY_AFTER)
    .option("--no-secret", "remove the secret; requests are no longer signed");
}

const RETRY_FOR = "how long to retry a failed message, from 1m to 7d; 4h by default";

const NOTIFY_AFTER = "how long it may fail before a notification is sent, from 1m to 7d; 15m by default";

interface PeriodOptions {
  readonly retryFor?: string | undefined;
  readonly notifyAfter?: string | undefined;
}

function periodsOf({ retryFor, notifyAfter }: PeriodOptions) {
  return definedFields({
    retryForMs: retryFor === undefined ? undefined : readDuration("--retry-for", retryFor),
    notifyAfterMs: notifyAfter === undefined ? undefined : readDuration("--notify-after", notifyAfter),
  });
}

/** Saving the URLs again enables the disabled ones. The values of headers, which are not shown, are kept. */
function enabledUrls({ settings, version }: DestinationView): DestinationPatch {
  if (webhooksOf(settings).every(({ disabled }) => disabled === undefined)) return {};
  return { settings: { webhooks: settings.webhooks }, version };
}
