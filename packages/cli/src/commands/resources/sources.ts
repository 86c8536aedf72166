import type { SourceView } from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { planCommand } from "../plans/source-plan.js";
import { type ManagedResource, type ResourceCommands, resourceCommands } from "./managed-resource.js";

const SOURCES: ManagedResource<SourceView> = {
  noun: "source",
  argument: "source",
  list: (client, page) => client.sources.list(page),
  delete: (client, id) => client.sources.delete(id),
  table: (sources, io) =>
    table(
      ["ID", "NAME", "KIND", "JOINS IDS", "WRITE KEYS", "BLOCKED EVENTS"],
      sources.map(({ id, name, kind, identity, writeKeys, blockedEvents }) => [
        id,
        name,
        kind,
        identity,
        writeKeys.map(({ key }) => key).join(" "),
        blockedEvents.join(", "),
      ]),
      io.style.bold,
    ),
};

export function sourcesCommand(io: Io): Command {
  const commands = resourceCommands(SOURCES, io);
  const group = newGroup("sources", "manage sources and their write keys")
    .addCommand(commands.list("list sources, oldest first"))
    .addCommand(commands.get("show a source"))
    .addCommand(createCommand(commands, io))
    .addCommand(updateCommand(commands))
    .addCommand(rotateKeyCommand(commands, io))
    .addCommand(deleteKeyCommand(commands, io))
    .addCommand(usageCommand(commands, io))
    .addCommand(planCommand(commands, io))
    .addCommand(
      commands.remove("delete a source and its write keys; stored messages are kept", { verb: "delete" }),
    );
  subcommandExamples(group, {
    list: "sluice sources list",
    get: "sluice sources get Shop",
    create: "sluice sources create Shop --kind web",
    update: 'sluice sources update Shop --block "Page Pinged"',
    "rotate-key": "sluice sources rotate-key Shop",
    "delete-key": "sluice sources delete-key Shop oregon_4kZfOld",
    usage: "sluice sources usage Shop --json",
    delete: "sluice sources delete Shop --yes",
  });
  return examples(group, [
    ["A source for a web shop", "sluice sources create Shop --kind web"],
    ["A new write key; the old one stays valid", "sluice sources rotate-key Shop"],
  ]);
}

interface CreateOptions extends CommandOptions {
  readonly kind: string;
  readonly block?: string[];
  readonly rateLimit?: string;
  readonly identity?: string;
}

function createCommand({ showItem }: ResourceCommands<SourceView>, io: Io): Command {
  return connectedCommand("create", "create a source with a write key")
    .argument("<name>")
    .option("--kind <kind>", "web, mobile or server", "server")
    .option("--block <event...>", "track events that are not delivered to any destination")
    .option("--rate-limit <n>", "accept at most n messages per second")
    .option(
      "--identity <policy>",
      "which ids its messages may join: full, anonymous or none (default: depends on the kind)",
    )
    .action(async (name: string, options: CreateOptions) => {
      const { kind, block, rateLimit, identity } = options;
      const client = await connect(options, io);
      const source = await client.sources.create({
        name,
        kind: kind as SourceView["kind"],
        ...definedFields({
          blockedEvents: block,
          rateLimit: rateLimit === undefined ? undefined : Number(rateLimit),
          identity: identity as SourceView["identity"] | undefined,
        }),
      });
      await showItem(source, options);
    });
}

interface UpdateOptions extends CommandOptions {
  readonly name?: string;
  readonly block?: string[];
  readonly blockNone?: boolean;
  readonly rateLimit?: string;
  readonly identity?: string;
}

function updateCommand({ forOne, showItem }: ResourceCommands<SourceView>): Command {
  return forOne<UpdateOptions>(
    "update",
    "change a source: its name, blocked events, rate limit or identity policy",
    async ({ client, item }, options) => {
      const { name, block, blockNone, rateLimit, identity } = options;
      const changed = await client.sources.patch(item.id, {
        ...definedFields({
          name,
          blockedEvents: blockNone ? [] : block,
          rateLimit: rateLimit === undefined ? undefined : rateLimit === "none" ? null : Number(rateLimit),
          identity: identity === "default" ? null : (identity as SourceView["identity"] | undefined),
        }),
        version: item.version,
      });
      await showItem(changed, options);
    },
  )
    .option("--name <name>", "a new name")
    .option("--block <event...>", "track events that are not delivered to any destination; replaces the list")
    .option("--block-none", "block no events")
    .option("--rate-limit <n>", "accept at most n messages per second; none removes the limit")
    .option(
      "--identity <policy>",
      "which ids its messages may join: full, anonymous, none, or default (depends on the kind)",
    );
}

function rotateKeyCommand({ forOne }: ResourceCommands<SourceView>, io: Io): Command {
  return forOne(
    "rotate-key",
    "add a write key; the others stay valid until you delete them",
    async ({ client, item }, options) => {
      const changed = await client.sources.addWriteKey(item.id);
      await show(io, options.json, changed, () => `${changed.writeKeys.at(-1)?.key ?? ""}\n`);
    },
  );
}

function deleteKeyCommand({ forOne }: ResourceCommands<SourceView>, io: Io): Command {
  return forOne(
    "delete-key",
    "delete a write key; requests with it are refused immediately",
    async ({ client, item }, options, key = "") => {
      await client.sources.removeWriteKey(item.id, key);
      await show(io, options.json, { deleted: key }, () => "deleted\n");
    },
  ).argument("<key>");
}

function usageCommand({ forOne }: ResourceCommands<SourceView>, io: Io): Command {
  return forOne(
    "usage",
    "show how many messages were accepted, filtered and delivered each day",
    async ({ client, item }, options) => {
      const usage = await client.sources.usage(item.id);
      await show(io, options.json, usage, () =>
        table(
          ["DAY (UTC)", "ACCEPTED", "FILTERED", "DELIVERED"],
          usage.days.map(({ day, accepted, filtered, delivered }) => [day, accepted, filtered, delivered]),
          io.style.bold,
        ),
      );
    },
  );
}
