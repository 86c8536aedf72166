import type { AdminClient, PageOptions } from "@sluice/admin-client";
import type { DeletionInput, DeletionView } from "@sluice/control-api";
import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { collect } from "../../connection/collect.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { CommandFailure, Finding } from "../../failures/exit-codes.js";
import { confirm, confirmRemoval } from "../../terminal/confirm.js";
import { asStarted } from "../../terminal/invocation.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { deletionsTable, planText, receiptText, unknownUserNotes } from "./deletion-tables.js";

export function deletionsCommand(io: Io): Command {
  const group = newGroup("deletions", "delete users' data, show receipts and refuse later messages")
    .addCommand(createCommand(io))
    .addCommand(listCommand(io))
    .addCommand(getCommand(io))
    .addCommand(retryCommand(io))
    .addCommand(giveUpCommand(io))
    .addCommand(suppressedCommand(io))
    .addCommand(liftCommand(io));
  subcommandExamples(group, {
    create: "sluice deletions create 42 --dry-run",
    list: "sluice deletions list",
    get: "sluice deletions get del_4kZf",
    retry: "sluice deletions retry del_4kZf --destination Warehouse",
    "give-up": "sluice deletions give-up del_4kZf --yes",
    suppressed: "sluice deletions suppressed",
    lift: "sluice deletions lift 42",
  });
  return examples(group, [
    ["What would be deleted", "sluice deletions create user-42 --dry-run"],
    ["Delete a user and refuse later messages", "sluice deletions create user-42 --suppress --yes"],
    ["The receipt", "sluice deletions get del_4kZ"],
  ]);
}

interface CreateOptions extends CommandOptions {
  readonly anonymous?: string[];
  readonly includeAliases?: boolean;
  readonly suppress?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

function createCommand(io: Io): Command {
  return connectedCommand("create", "delete users' data and tell the webhooks of their sources")
    .argument("[userId...]")
    .option("--anonymous <id...>", "anonymous ids of visitors who were never identified")
    .option("--include-aliases", "also delete other user ids that were joined to these by alias")
    .option("--suppress", "also refuse their later messages")
    .option("--dry-run", "show what would be deleted, and change nothing")
    .option("--yes", "do not ask for confirmation")
    .action((userIds: string[], options: CreateOptions) => createDeletion(userIds, options, io));
}

type Input = Omit<DeletionInput, "dryRun">;

async function createDeletion(userIds: string[], options: CreateOptions, io: Io): Promise<void> {
  const input: Input = {
    userIds,
    anonymousIds: options.anonymous ?? [],
    suppress: options.suppress ?? false,
    includeAliases: options.includeAliases ?? false,
  };
  checkUsers(userIds.length + (options.anonymous ?? []).length, options, io);
  const client = await connect(options, io);
  if (options.dryRun) {
    const plan = await client.deletions.plan(input);
    await show(io, options.json, plan, () => planText(plan, io));
    return;
  }
  if (!options.yes) {
    io.err(planText(await client.deletions.plan(input), io));
    if (!(await confirm("Delete this permanently?", io))) throw new Finding("failed", "Nothing was deleted.");
  } else if (!options.json) io.err(unknownUserNotes(await client.deletions.plan(input)));
  const deletion = await client.deletions.create(input);
  await show(io, options.json, deletion, () => {
    const next = asStarted(`See its progress and receipt: npx sluice deletions get ${deletion.id}`, io);
    return `${deletionsTable([deletion], io)}${io.style.dim(terminalText(next))}\n`;
  });
}

/** Refuses a deletion without users, and one that needs a confirmation when there is no terminal to ask on. */
function checkUsers(users: number, { dryRun, yes }: CreateOptions, { canAsk }: Io): void {
  if (users === 0)
    throw new CommandFailure("usage", "No user is given", "Give user ids, or anonymous ids with --anonymous");
  if (dryRun || yes || canAsk) return;
  throw new CommandFailure(
    "usage",
    `This permanently deletes all data of ${plural(users, "user", "users")}`,
    "Add --yes to confirm, or --dry-run to see what would be deleted",
  );
}

function listCommand(io: Io): Command {
  return withLimit(connectedCommand("list", "list deletions, newest first")).action(
    async (options: CommandOptions & { readonly limit: string }) => {
      const limit = readLimit(options.limit);
      const client = await connect(options, io);
      const page = await client.deletions.list({ limit });
      await show(io, options.json, page, () => deletionsTable(page.items, io));
    },
  );
}

function getCommand(io: Io): Command {
  return connectedCommand("get", "show the progress and receipt of a deletion")
    .argument("<id>")
    .action(async (id: string, options: CommandOptions) => {
      const client = await connect(options, io);
      await showDeletion(await client.deletions.get(id), client, options, io);
    });
}

function retryCommand(io: Io): Command {
  return connectedCommand("retry", "send the failed delete messages of a deletion again")
    .argument("<id>")
    .option("--destination <destination>", "only to this destination: its id or name (default: all)")
    .action(async (id: string, options: CommandOptions & { readonly destination?: string }) => {
      const client = await connect(options, io);
      const { destination } = options;
      const list = (page: PageOptions) => client.destinations.list(page);
      const only = destination === undefined ? undefined : await findByName("destination", destination, list);
      await showDeletion(await client.deletions.retry(id, only?.id), client, options, io);
    });
}

function giveUpCommand(io: Io): Command {
  return connectedCommand(
    "give-up",
    "end a deletion whose delete messages failed: erase them, and keep the failures in the receipt",
  )
    .argument("<id>")
    .option("--yes", "do not ask for confirmation")
    .action(async (id: string, options: CommandOptions & { readonly yes?: boolean }) => {
      await confirmRemoval(
        {
          consequence: `This ends the deletion ${id} without telling the destinations that failed`,
          question: `End the deletion ${id} without telling the destinations that failed?`,
          declined: "Nothing was changed.",
          isYes: options.yes === true,
        },
        io,
      );
      const client = await connect(options, io);
      await showDeletion(await client.deletions.giveUp(id), client, options, io);
    });
}

async function showDeletion(
  deletion: DeletionView,
  client: AdminClient,
  options: CommandOptions,
  io: Io,
): Promise<void> {
  const destinations = options.json ? [] : await collect((cursor) => client.destinations.list({ cursor }));
  const names = new Map(destinations.map(({ id, name }) => [id, name]));
  await show(
    io,
    options.json,
    deletion,
    () => deletionsTable([deletion], io) + receiptText(deletion, names, io),
  );
}

/** Characters of a digest that say enough to recognize it. */
const SHORT_DIGEST = 8;

function suppressedCommand(io: Io): Command {
  return connectedCommand("suppressed", "list the ids whose messages are refused, as digests").action(
    async (options: CommandOptions) => {
      const client = await connect(options, io);
      const items = await collect((cursor) => client.suppressions.list({ cursor }));
      await show(io, options.json, { items }, () =>
        table(
          ["ID (HMAC)", "KIND", "JOINED TO", "SINCE"],
          items.map(({ idHmac, kind, joinedTo, since }) => [
            idHmac,
            kind,
            joinedTo?.slice(0, SHORT_DIGEST) ?? "",
            since,
          ]),
          io.style.bold,
        ),
      );
    },
  );
}

interface LiftOptions extends CommandOptions {
  readonly anonymous?: boolean;
  readonly hmac?: boolean;
}

function liftCommand(io: Io): Command {
  return connectedCommand(
    "lift",
    "accept messages of a suppressed user again, and of ids that were suppressed with it",
  )
    .argument("<id>", "a user id")
    .option("--anonymous", "the id is an anonymous id")
    .option("--hmac", "the id is a digest from `suppressed`")
    .action(async (id: string, options: LiftOptions) => {
      const client = await connect(options, io);
      const by = options.hmac ? "idHmac" : options.anonymous ? "anonymousId" : "userId";
      await client.suppressions.lift(id, by);
      await show(io, options.json, { lifted: id }, () => "lifted\n");
    });
}
