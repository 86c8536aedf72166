import type { AdminClient } from "@sluice/admin-client";
import type { Command } from "commander";
import { FILTER_HELP, readFilterArgument, readLimit, withLimit, withTimeRange } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { collectUpTo, namesOf } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/terminal-text.js";
import { destinationsOf, messageDetails, messagesTable, refusedHint, rejectedTable } from "./message-text.js";

interface ListOptions extends CommandOptions {
  readonly limit: string;
  readonly from?: string;
  readonly to?: string;
  readonly rejected?: boolean;
}

export function listCommand(io: Io): Command {
  const command = connectedCommand("list", "list stored messages, newest first").argument(
    "[filter...]",
    "list only messages that match",
  );
  withTimeRange(withLimit(command))
    .option("--rejected", "list refused messages and the reasons instead")
    .addHelpText("after", FILTER_HELP)
    .action((filter: string[], options: ListOptions) => list(filter, options, io));
  return examples(command, [["", "sluice messages list type:track outcome:failed -n 20"]]);
}

async function list(filter: string[], options: ListOptions, io: Io): Promise<void> {
  const q = readFilterArgument(filter);
  const limit = readLimit(options.limit);
  const { from, to, rejected, json } = options;
  const client = await connect(options, io);
  if (rejected) {
    if (q !== undefined)
      throw new CommandFailure(
        "usage",
        "--rejected goes without a filter: refused messages have no fields to compare",
        "Limit them with --from and --to",
      );
    await listRejected(client, { limit, from, to }, json, io);
    return;
  }
  const found = await collectUpTo(limit, (page) => client.messages.list({ q, from, to, ...page }));
  await show(io, json, found, () => messagesTable(found.items, io));
  if (q !== undefined && found.items.length === 0) await tellOfRefused(client, from, to, io);
}

/** A message that is missing may have been refused, and no filter finds those. */
async function tellOfRefused(
  client: AdminClient,
  from: string | undefined,
  to: string | undefined,
  io: Io,
): Promise<void> {
  const { items } = await client.messages.rejected({ from, to, limit: 1 });
  if (items.length > 0) io.err(`${io.errStyle.dim(refusedHint(io))}\n`);
}

async function listRejected(
  client: AdminClient,
  search: Parameters<AdminClient["messages"]["rejected"]>[0],
  asJson: boolean | undefined,
  io: Io,
): Promise<void> {
  const page = await client.messages.rejected(search);
  await show(io, asJson, page, () => rejectedTable(page.items, io));
}

export function getCommand(io: Io): Command {
  const command = connectedCommand(
    "get",
    "show a message with its outcome and attempts at every destination, or why it was refused",
  )
    .argument("<messageId>")
    .option("--source <id>", "the source, if two sources sent the same id")
    .action(async (messageId: string, options: CommandOptions & { readonly source?: string }) => {
      const client = await connect(options, io);
      const message = await client.messages.get(messageId, options.source);
      const names = options.json ? (id: string) => id : await namesOf(client, destinationsOf(message));
      await show(io, options.json, message, () => messageDetails(message, names, io));
    });
  return examples(command, [["", "sluice messages get m-42"]]);
}
