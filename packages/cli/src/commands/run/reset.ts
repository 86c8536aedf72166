import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";

export function resetCommand(io: Io): Command {
  const command = connectedCommand(
    "reset",
    "delete all messages, outcomes and profiles (sluice dev only); sources, destinations and audiences are kept",
  ).action(async (options: CommandOptions) => {
    await (await connect(options, io)).reset();
    await show(io, options.json, { reset: true }, () => "deleted all messages, outcomes and profiles\n");
  });
  return examples(command, [["Between two tests", "sluice reset"]]);
}
