import type { Command } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";

export function resetCommand(io: Io): Command {
  const command = withConnection(
    newCommand(
      "reset",
      "forget every message, what became of it, and every profile (sluice dev only); sources, destinations and audiences stay",
    ),
  ).action(async (options: ConnectionOptions & { json?: boolean }) => {
    await (await connect(options, io)).reset();
    await show(io, options.json, { reset: true }, () => "forgotten\n");
  });
  return examples(command, [["Between two tests", "sluice reset"]]);
}
