import type { TokenAccess, TokenView } from "@sluice/control-api";
import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { type ManagedResource, resourceCommands } from "./managed-resource.js";

const TOKENS: ManagedResource<TokenView> = {
  noun: "token",
  argument: "token",
  list: (client, page) => client.tokens.list(page),
  delete: (client, id) => client.tokens.revoke(id),
  table: (tokens, io) =>
    table(
      ["ID", "NAME", "ACCESS", "CREATED"],
      tokens.map(({ id, name, access, createdAt }) => [id, name, access, createdAt]),
      io.style.bold,
    ),
};

export function tokensCommand(io: Io): Command {
  const commands = resourceCommands(TOKENS, io);
  const group = newGroup("tokens", "create, list and revoke admin tokens")
    .addCommand(commands.list("list admin tokens, without the tokens themselves"))
    .addCommand(createCommand(io))
    .addCommand(
      commands.remove("revoke an admin token", {
        verb: "revoke",
        consequence: ", whose requests are refused immediately",
      }),
    );
  subcommandExamples(group, {
    list: "sluice tokens list",
    create: "sluice tokens create dashboards --access read",
    revoke: "sluice tokens revoke dashboards --yes",
  });
  return examples(group, [
    ["A read-only token for a wall display", "sluice tokens create wall --access read"],
    ["For Prometheus on another machine", "sluice tokens create prometheus --access metrics"],
  ]);
}

function createCommand(io: Io): Command {
  return connectedCommand("create", "create an admin token; it is shown only once")
    .argument("<name>")
    .option(
      "--access <access>",
      "full, read (cannot change anything) or metrics (can only read /metrics)",
      "full",
    )
    .action(async (name: string, options: CommandOptions & { readonly access: string }) => {
      const client = await connect(options, io);
      const created = await client.tokens.create({ name, access: options.access as TokenAccess });
      await show(io, options.json, created, () => `${created.token}\n`);
    });
}
