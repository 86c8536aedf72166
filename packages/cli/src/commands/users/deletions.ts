import { allPages } from "@sluice/admin-client";
import type { DeletionPlan, DeletionView, SuppressionView } from "@sluice/protocol";
import type { Command } from "commander";
import { readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import { CommandFailure, Finding } from "../../failures/exit-codes.js";
import { confirm } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

interface CreateOptions extends Options {
  readonly anonymous?: string[];
  readonly includeAliases?: boolean;
  readonly suppress?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function deletionsCommand(io: Io): Command {
  const command = newGroup("deletions", "remove users, see receipts, refuse later messages");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));

  command.addCommand(
    sub("create", "remove users and tell the webhooks of the sources that they came from")
      .argument("[userId...]")
      .option("--anonymous <id...>", "visitors who were never identified, by anonymous id")
      .option("--include-aliases", "also remove other user ids that were joined to these by alias")
      .option("--suppress", "also refuse their later messages")
      .option("--dry-run", "show what would go, and change nothing")
      .option("--yes", "do not ask")
      .action(async (userIds: string[], options: CreateOptions) => {
        const input = {
          userIds,
          anonymousIds: options.anonymous ?? [],
          suppress: options.suppress ?? false,
          includeAliases: options.includeAliases ?? false,
        };
        const count = userIds.length + input.anonymousIds.length;
        if (count === 0) throw new CommandFailure("usage", "Name at least one user id, or --anonymous ids");
        if (options.dryRun !== true && options.yes !== true && !io.canAsk)
          throw new CommandFailure(
            "usage",
            `This deletes everything of ${plural(count, "user", "users")}, for good`,
            "Say --yes to do it, or --dry-run to see what would go",
          );
        const client = await connect(options, io);
        if (options.dryRun === true) {
          const plan = await client.deletions.plan(input);
          await show(io, options.json, plan, () => planTable(plan, io));
          return;
        }
        if (options.yes !== true) {
          io.err(planTable(await client.deletions.plan(input), io));
          if (!(await confirm("Remove this for good?", io)))
            throw new Finding("failed", "Nothing was deleted.");
        } else if (options.json !== true) io.err(unknownNotes(await client.deletions.plan(input)));
        const deletion = await client.deletions.create(input);
        await show(io, options.json, deletion, () => {
          const next = `How far it is, and its receipt: npx sluice deletions get ${deletion.id}`;
          return `${deletionsTable([deletion], io)}${io.style.dim(terminalText(next))}\n`;
        });
      }),
  );
  command.addCommand(
    sub("list", "deletions, newest first")
      .option("-n, --limit <n>", "at most so many", "50")
      .action(async (options: Options & { limit: string }) => {
        const limit = readInteger("--limit", options.limit, 1, 500);
        const client = await connect(options, io);
        const page = await client.deletions.list({ limit });
        await show(io, options.json, page, () => deletionsTable(page.items, io));
      }),
  );
  command.addCommand(
    sub("get", "how far a deletion is, and its receipt")
      .argument("<id>")
      .action(async (id: string, options: Options) => {
        const client = await connect(options, io);
        const deletion = await client.deletions.get(id);
        await show(
          io,
          options.json,
          deletion,
          () => deletionsTable([deletion], io) + receiptTable(deletion, io),
        );
      }),
  );
  command.addCommand(
    sub("suppressed", "ids whose messages are refused, each by its digest").action(
      async (options: Options) => {
        const client = await connect(options, io);
        const suppressed: SuppressionView[] = [];
        for await (const one of allPages((cursor) => client.suppressions.list({ cursor })))
          suppressed.push(one);
        await show(io, options.json, { items: suppressed }, () =>
          table(
            ["ID (HMAC)", "KIND", "JOINED TO", "SINCE"],
            suppressed.map(({ idHmac, kind, joinedTo, since }) => [
              idHmac,
              kind,
              joinedTo?.slice(0, 8) ?? "",
              since,
            ]),
            io.style.bold,
          ),
        );
      },
    ),
  );
  command.addCommand(
    sub("lift", "take a user's messages again from now on, and those of ids suppressed with it")
      .argument("<id>", "a user id")
      .option("--anonymous", "the id is an anonymous id")
      .option("--hmac", "the id is a digest, as `suppressed` lists it")
      .action(async (id: string, options: Options & { anonymous?: boolean; hmac?: boolean }) => {
        const client = await connect(options, io);
        const by = options.hmac ? "idHmac" : options.anonymous ? "anonymousId" : "userId";
        await client.suppressions.lift(id, by);
        await show(io, options.json, { lifted: id }, () => "lifted\n");
      }),
  );
  exampleOfEach(command, {
    create: "sluice deletions create 42 --dry-run",
    list: "sluice deletions list",
    get: "sluice deletions get del_4kZf",
    suppressed: "sluice deletions suppressed",
    lift: "sluice deletions lift 42",
  });
  return examples(command, [
    ["What would go with a user", "sluice deletions create user-42 --dry-run"],
    ["Remove a user and refuse what comes later", "sluice deletions create user-42 --suppress --yes"],
    ["Its receipt", "sluice deletions get del_4kZ"],
  ]);
}

/** What would go, and under each user what belongs to it. */
function planTable(plan: DeletionPlan, io: Io): string {
  const { users, includeAliases } = plan;
  const rows = table(
    [
      "USER",
      "MESSAGES",
      "ATTEMPTS",
      "QUEUED",
      "PROFILE",
      "AUDIENCES",
      "DEVICES",
      includeAliases ? "ALIASES" : "ALIASES LEFT",
    ],
    users.map((user) => [
      user.userId ?? `${user.anonymousId ?? ""} (anonymous)`,
      user.messages,
      user.attempts,
      user.retries,
      user.profile ? "yes" : "none",
      user.audienceMemberships,
      user.anonymousIds.length,
      user.aliases.length,
    ]),
    io.style.bold,
  );
  const notes = users.flatMap(({ userId = "", anonymousIds, aliases }) => [
    ...(anonymousIds.length === 0
      ? []
      : [`${userId}: anonymous ids that go too: ${anonymousIds.join(", ")}`]),
    ...(aliases.length === 0
      ? []
      : [
          `${userId}: other user ids of the same profile, which ${includeAliases ? "go too" : "stay without --include-aliases"}: ${aliases.join(", ")}`,
        ]),
  ]);
  return rows + notes.map((note) => `${terminalText(note)}\n`).join("") + unknownNotes(plan);
}

/** A line for each id of which there is nothing to remove: most often it was mistyped. */
function unknownNotes({ users }: DeletionPlan): string {
  return users
    .filter(
      ({ messages, profile, anonymousIds, aliases }) =>
        messages === 0 && !profile && anonymousIds.length + aliases.length === 0,
    )
    .map(({ userId, anonymousId = "" }) => terminalText(`nothing is known of ${userId ?? anonymousId}`))
    .map((note) => `${note}\n`)
    .join("");
}

function deletionsTable(deletions: readonly DeletionView[], io: Io): string {
  return table(
    ["ID", "STATUS", "STEP", "USERS", "CREATED"],
    deletions.map(({ id, status, step, userCount, createdAt }) => [id, status, step, userCount, createdAt]),
    io.style.bold,
  );
}

function receiptTable({ receipt }: DeletionView, io: Io): string {
  if (receipt === undefined) return "";
  return `\n${table(
    [
      "ID (HMAC)",
      "KIND",
      "MESSAGES",
      "ATTEMPTS",
      "QUEUED",
      "PROFILE",
      "AUDIENCES",
      "DEVICES",
      "ALIASES",
      "ALIASES LEFT",
    ],
    receipt.users.map((user) => [
      user.idHmac,
      user.kind,
      user.messages,
      user.attempts,
      user.retries,
      user.profile ? "removed" : "none",
      user.audienceMemberships,
      user.anonymousIds,
      user.aliases ?? 0,
      user.aliasesLeft,
    ]),
    io.style.bold,
  )}\n${table(
    ["WHAT", "WHEN"],
    [
      ["gone from every answer", receipt.purgedAt ?? ""],
      ["gone from the files", receipt.erasedAt ?? ""],
      [`delete messages (${receipt.deleteMessages.length}) done and erased`, receipt.tracesErasedAt ?? ""],
    ],
    io.style.bold,
  )}`;
}
