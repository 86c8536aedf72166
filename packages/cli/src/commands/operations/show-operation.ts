import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { followOperation } from "./follow-operation.js";
import { summaryText } from "./operation-text.js";

export function showCommand(io: Io): Command {
  const command = connectedCommand("show", "show an operation's progress and results")
    .argument("<id>")
    .option("--follow", "wait for its end, with a progress line on a terminal")
    .action(async (id: string, options: CommandOptions & { readonly follow?: boolean }) => {
      const client = await connect(options, io);
      const now = await client.operations.get(id);
      const operation = options.follow ? await followOperation(client, now, io) : now;
      await show(io, options.json, operation, () => summaryText(operation));
    });
  return examples(command, [["", "sluice operations show op_4kZf --follow"]]);
}
