import { allPages } from "@sluice/admin-client";
import type { DeletionView, SuppressionView } from "@sluice/protocol";
import type { Command } from "commander";
import { exampleOfEach, examples, newCommand, newGroup } from "../command.js";
import { type ConnectionOptions, connect, withConnection } from "../connection.js";
import { CommandFailure } from "../exit-codes.js";
import type { Io } from "../io.js";
import { readInteger } from "../numbers.js";
import { plural } from "../plural.js";
import { show } from "../show.js";
import { table } from "../table.js";
import { terminalText } from "../terminal-text.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

export function deletionsCommand(io: Io): Command {
  const command = newGroup("deletions", "remove users, see receipts, refuse later messages");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));

  command.addCommand(
    sub("create", "remove users and tell the webhooks of the sources that they came from")
      .argument("<userId...>")
      .option("--suppress", "also refuse their later messages")
      .option("--yes", "do not ask")
      .action(async (userIds: string[], options: Options & { suppress?: boolean; yes?: boolean }) => {
        if (options.yes !== true)
          throw new CommandFailure(
            "usage",
            `This deletes everything of ${plural(userIds.length, "user", "users")}, for good`,
            "Say --yes to do it",
          );
        const client = await connect(options, io);
        const deletion = await client.deletions.create({ userIds, suppress: options.suppress ?? false });
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
    sub("suppressed", "users whose messages are refused, by the SHA-256 of their ids").action(
      async (options: Options) => {
        const client = await connect(options, io);
        const suppressed: SuppressionView[] = [];
        for await (const one of allPages((cursor) => client.suppressions.list({ cursor })))
          suppressed.push(one);
        await show(io, options.json, { items: suppressed }, () =>
          table(
            ["USER (SHA-256)", "SINCE"],
            suppressed.map(({ userIdSha256, since }) => [userIdSha256, since]),
            io.style.bold,
          ),
        );
      },
    ),
  );
  command.addCommand(
    sub("lift", "take a user's messages again from now on")
      .argument("<userId>")
      .action(async (userId: string, options: Options) => {
        const client = await connect(options, io);
        await client.suppressions.lift(userId);
        await show(io, options.json, { lifted: userId }, () => "lifted\n");
      }),
  );
  exampleOfEach(command, {
    create: "sluice deletions create 42 --suppress --yes",
    list: "sluice deletions list",
    get: "sluice deletions get del_4kZf",
    suppressed: "sluice deletions suppressed",
    lift: "sluice deletions lift 42",
  });
  return examples(command, [
    ["Remove a user and refuse what comes later", "sluice deletions create user-42 --suppress --yes"],
    ["Its receipt", "sluice deletions get del_4kZ"],
  ]);
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
    ["USER (SHA-256)", "MESSAGES", "ATTEMPTS", "QUEUED", "PROFILE", "AUDIENCES"],
    receipt.users.map((user) => [
      user.userIdSha256,
      user.messages,
      user.attempts,
      user.retries,
      user.profile ? "removed" : "none",
      user.audienceMemberships,
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
