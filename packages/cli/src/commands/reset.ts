import type { Command } from "commander";
import { examples, newCommand } from "../command.js";
import { type ConnectionOptions, connect, withConnection } from "../connection.js";
import type { Io } from "../io.js";
import { show } from "../show.js";

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
