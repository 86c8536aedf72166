import { allPages } from "@sluice/admin-client";
import type { SourceView } from "@sluice/protocol";
import type { Command } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

export function sourcesCommand(io: Io): Command {
  const command = newGroup("sources", "list, make, change and delete sources and their write keys");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));
  const find = async (wanted: string, options: Options) => {
    const client = await connect(options, io);
    return { client, source: await findByName("source", wanted, (page) => client.sources.list(page)) };
  };

  command.addCommand(
    sub("list", "all sources, oldest first").action(async (options: Options) => {
      const client = await connect(options, io);
      const sources: SourceView[] = [];
      for await (const source of allPages((cursor) => client.sources.list({ cursor }))) sources.push(source);
      await show(io, options.json, { items: sources }, () => sourcesTable(sources, io));
    }),
  );
  command.addCommand(
    sub("get", "one source")
      .argument("<source>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { source } = await find(wanted, options);
        await show(io, options.json, source, () => sourcesTable([source], io));
      }),
  );
  command.addCommand(
    sub("create", "make a source with its first write key")
      .argument("<name>")
      .option("--kind <kind>", "web, mobile or server", "server")
      .option("--block <event...>", "names of track events that go to no destination")
      .option("--rate-limit <n>", "messages a second that are taken")
      .option(
        "--identity <policy>",
        "which ids its messages may join: full, anonymous or none; by its kind if absent",
      )
      .action(
        async (
          name: string,
          options: Options & { kind: string; block?: string[]; rateLimit?: string; identity?: string },
        ) => {
          const client = await connect(options, io);
          const source = await client.sources.create({
            name,
            kind: options.kind as SourceView["kind"],
            ...(options.block === undefined ? {} : { blockedEvents: options.block }),
            ...(options.rateLimit === undefined ? {} : { rateLimit: Number(options.rateLimit) }),
            ...(options.identity === undefined
              ? {}
              : { identity: options.identity as SourceView["identity"] }),
          });
          await show(io, options.json, source, () => sourcesTable([source], io));
        },
      ),
  );
  command.addCommand(
    sub("update", "rename a source, block events, limit its rate")
      .argument("<source>", "its id or name")
      .option("--name <name>", "its new name")
      .option("--block <event...>", "the names of track events that go to no destination; replaces the list")
      .option("--block-none", "block no event")
      .option("--rate-limit <n>", "messages a second that are taken; none: no limit")
      .option(
        "--identity <policy>",
        "which ids its messages may join: full, anonymous, none; default: as its kind says",
      )
      .action(
        async (
          wanted: string,
          options: Options & {
            name?: string;
            block?: string[];
            blockNone?: boolean;
            rateLimit?: string;
            identity?: string;
          },
        ) => {
          const { client, source } = await find(wanted, options);
          const blockedEvents = options.blockNone ? [] : options.block;
          const changed = await client.sources.patch(source.id, {
            ...(options.name === undefined ? {} : { name: options.name }),
            ...(blockedEvents === undefined ? {} : { blockedEvents }),
            ...(options.rateLimit === undefined
              ? {}
              : { rateLimit: options.rateLimit === "none" ? null : Number(options.rateLimit) }),
            ...(options.identity === undefined
              ? {}
              : {
                  identity:
                    options.identity === "default" ? null : (options.identity as SourceView["identity"]),
                }),
            version: source.version,
          });
          await show(io, options.json, changed, () => sourcesTable([changed], io));
        },
      ),
  );
  command.addCommand(
    sub("rotate-key", "add a write key; the older ones stay valid until they are deleted")
      .argument("<source>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { client, source } = await find(wanted, options);
        const changed = await client.sources.addWriteKey(source.id);
        await show(io, options.json, changed, () => `${changed.writeKeys.at(-1)?.key ?? ""}\n`);
      }),
  );
  command.addCommand(
    sub("delete-key", "delete a write key: it is refused from now on")
      .argument("<source>", "its id or name")
      .argument("<key>")
      .action(async (wanted: string, key: string, options: Options) => {
        const { client, source } = await find(wanted, options);
        await client.sources.removeWriteKey(source.id, key);
        await show(io, options.json, { deleted: key }, () => "deleted\n");
      }),
  );
  command.addCommand(
    sub("usage", "messages accepted, filtered and delivered, by day")
      .argument("<source>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { client, source } = await find(wanted, options);
        const usage = await client.sources.usage(source.id);
        await show(io, options.json, usage, () =>
          table(
            ["DAY (UTC)", "ACCEPTED", "FILTERED", "DELIVERED"],
            usage.days.map(({ day, accepted, filtered, delivered }) => [day, accepted, filtered, delivered]),
            io.style.bold,
          ),
        );
      }),
  );
  command.addCommand(
    sub("delete", "delete a source: its write keys are refused from now on, what it sent stays")
      .argument("<source>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const { client, source } = await find(wanted, options);
        await confirmRemoval(
          {
            what: `This deletes the source ${source.name} (${source.id})`,
            question: `Delete the source ${source.name} (${source.id})?`,
            declined: "Nothing was deleted.",
            isYes: options.yes === true,
          },
          io,
        );
        await client.sources.delete(source.id);
        await show(io, options.json, { deleted: source.id }, () => `deleted ${source.id}\n`);
      }),
  );
  exampleOfEach(command, {
    list: "sluice sources list",
    get: "sluice sources get Shop",
    create: "sluice sources create Shop --kind web",
    update: 'sluice sources update Shop --block "Page Pinged"',
    "rotate-key": "sluice sources rotate-key Shop",
    "delete-key": "sluice sources delete-key Shop oregon_4kZfOld",
    usage: "sluice sources usage Shop --json",
    delete: "sluice sources delete Shop --yes",
  });
  return examples(command, [
    ["A source for a web shop", "sluice sources create Shop --kind web"],
    ["A new write key; the old one goes on working", "sluice sources rotate-key Shop"],
  ]);
}

function sourcesTable(sources: readonly SourceView[], io: Io): string {
  return table(
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
  );
}
