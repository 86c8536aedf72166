import type { AdminClient, PageOptions } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/control-api";
import type { Command } from "commander";
import { collect } from "../../connection/collect.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";

/** What the commands for one kind of resource (sources, destinations, audiences …) have to know about it. */
export interface ManagedResource<Item extends { readonly id: string; readonly name: string }> {
  /** Used in messages: `computed trait`. */
  readonly noun: string;
  /** The argument's name in usage lines: `trait`. */
  readonly argument: string;
  list(client: AdminClient, page: PageOptions): Promise<ListAnswer<Item>>;
  delete(client: AdminClient, id: string): Promise<void>;
  table(items: readonly Item[], io: Io): string;
  /** Adds what is shown of items besides what the API's list holds. */
  more?(client: AdminClient, items: readonly Item[]): Promise<readonly Item[]>;
  /** One item as text. Default: a table with one row. */
  details?(item: Item, io: Io): string;
}

interface Found<Item> {
  readonly client: AdminClient;
  readonly item: Item;
}

interface RemovalWords {
  readonly verb: "delete" | "revoke";
  /** Appended to the question: ` with its deliveries`. */
  readonly consequence?: string;
}

/** The commands that are the same for every kind of resource. */
export interface ResourceCommands<Item> {
  list(summary: string): Command;
  get(summary: string): Command;
  /** A command that changes an item and prints the result. */
  change(name: string, summary: string, change: (client: AdminClient, item: Item) => Promise<Item>): Command;
  remove(summary: string, words: RemovalWords): Command;
  /** A command with the item as its first argument. The action gets the item and the other arguments. */
  forOne<Options extends CommandOptions>(
    name: string,
    summary: string,
    action: (found: Found<Item>, options: Options, ...args: readonly string[]) => Promise<void>,
  ): Command;
  /** Prints one item. */
  showItem(item: Item, options: CommandOptions): Promise<void>;
}

export function resourceCommands<Item extends { readonly id: string; readonly name: string }>(
  resource: ManagedResource<Item>,
  io: Io,
): ResourceCommands<Item> {
  const showItem: ResourceCommands<Item>["showItem"] = async (item, options) => {
    const [shown = item] = (await resource.more?.(await connect(options, io), [item])) ?? [];
    await show(io, options.json, shown, () => resource.details?.(shown, io) ?? resource.table([shown], io));
  };

  const forOne: ResourceCommands<Item>["forOne"] = (name, summary, action) =>
    connectedCommand(name, summary)
      .argument(`<${resource.argument}>`, "its id or name")
      .action(async (...given: readonly unknown[]) => {
        // Commander passes the arguments, then the options and the command.
        const command = given.at(-1) as Command;
        const [wanted = "", ...args] = command.args;
        const options = command.opts();
        const client = await connect(options, io);
        const item = await findByName(resource.noun, wanted, (page) => resource.list(client, page));
        await action({ client, item }, options as never, ...args);
      });

  return {
    showItem,
    forOne,
    list: (summary) =>
      connectedCommand("list", summary).action(async (options: CommandOptions) => {
        const client = await connect(options, io);
        const listed = await collect((cursor) => resource.list(client, { cursor }));
        const items = (await resource.more?.(client, listed)) ?? listed;
        await show(io, options.json, { items }, () => resource.table(items, io));
      }),
    get: (summary) => forOne("get", summary, ({ item }, options) => showItem(item, options)),
    change: (name, summary, change) =>
      forOne(name, summary, async ({ client, item }, options) =>
        showItem(await change(client, item), options),
      ),
    remove: (summary, words) => removeCommand(resource, forOne, summary, words, io),
  };
}

function removeCommand<Item extends { readonly id: string; readonly name: string }>(
  resource: ManagedResource<Item>,
  forOne: ResourceCommands<Item>["forOne"],
  summary: string,
  { verb, consequence = "" }: RemovalWords,
  io: Io,
): Command {
  const command = forOne<CommandOptions & { readonly yes?: boolean }>(
    verb,
    summary,
    async ({ client, item: { id, name } }, options) => {
      const what = `the ${resource.noun} ${name} (${id})${consequence}`;
      await confirmRemoval(
        {
          consequence: `This ${verb}s ${what}`,
          question: `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${what}?`,
          declined: `Nothing was ${verb}d.`,
          isYes: options.yes === true,
        },
        io,
      );
      await resource.delete(client, id);
      await show(io, options.json, { [`${verb}d`]: id }, () => `${verb}d ${id}\n`);
    },
  );
  return command.option("--yes", "do not ask for confirmation");
}
