import { allPages } from "@sluice/admin-client";
import type { TokenAccess, TokenView } from "@sluice/protocol";
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

export function tokensCommand(io: Io): Command {
  const command = newGroup("tokens", "make, list and revoke admin tokens");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));
  command.addCommand(
    sub("list", "admin tokens by name, never the tokens themselves").action(async (options: Options) => {
      const client = await connect(options, io);
      const tokens: TokenView[] = [];
      for await (const token of allPages((cursor) => client.tokens.list({ cursor }))) tokens.push(token);
      await show(io, options.json, { items: tokens }, () =>
        table(
          ["ID", "NAME", "ACCESS", "CREATED"],
          tokens.map(({ id, name, access, createdAt }) => [id, name, access, createdAt]),
          io.style.bold,
        ),
      );
    }),
  );
  command.addCommand(
    sub("create", "make an admin token; it is shown this once")
      .argument("<name>")
      .option("--access <access>", "full, or read: it may change nothing", "full")
      .action(async (name: string, options: Options & { access: string }) => {
        const made = await (await connect(options, io)).tokens.create({
          name,
          access: options.access as TokenAccess,
        });
        await show(io, options.json, made, () => `${made.token}\n`);
      }),
  );
  command.addCommand(
    sub("revoke", "revoke an admin token: it is refused from now on")
      .argument("<token>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const client = await connect(options, io);
        const token = await findByName("token", wanted, (page) => client.tokens.list(page));
        await confirmRemoval(
          {
            what: `This revokes the token ${token.name} (${token.id}): what uses it is refused at once`,
            question: `Revoke the token ${token.name} (${token.id})? What uses it is refused at once.`,
            declined: "Nothing was revoked.",
            isYes: options.yes === true,
          },
          io,
        );
        await client.tokens.revoke(token.id);
        await show(io, options.json, { revoked: token.id }, () => `revoked ${token.id}\n`);
      }),
  );
  exampleOfEach(command, {
    list: "sluice tokens list",
    create: "sluice tokens create dashboards --access read",
    revoke: "sluice tokens revoke dashboards --yes",
  });
  return examples(command, [
    ["A token for a dashboard on the wall", "sluice tokens create wall --access read"],
  ]);
}
