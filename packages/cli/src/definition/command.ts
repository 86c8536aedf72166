import { Command } from "commander";
import type { Io } from "../terminal/io.js";

/** Makes a command of `sluice`. Each run makes its own commands. */
export type CommandMaker = (io: Io) => Command;

export const HELP_OPTION = "show this help";

/** A command that only has subcommands. */
export function newGroup(name: string, summary: string): Command {
  return new Command(name).description(summary).helpOption("-h, --help", HELP_OPTION);
}

/** A command with the options that every command has. */
export function newCommand(name: string, summary: string): Command {
  return new Command(name)
    .description(summary)
    .option("--json", "print JSON instead of text")
    .helpOption("-h, --help", HELP_OPTION);
}

/** Adds examples to the end of `--help`: a comment, unless it is empty, and a command line each. The lines are shown with `npx`, as you would type them. */
export function examples(
  command: Command,
  lines: readonly (readonly [comment: string, commandLine: string])[],
): Command {
  const shown = lines.map(
    ([comment, commandLine]) =>
      `${comment === "" ? "" : `  # ${comment}\n`}  $ ${commandLine.replace(/^sluice /, "npx sluice ")}`,
  );
  return command.addHelpText("after", `\nExamples:\n${shown.join("\n\n")}\n`);
}

/** Adds one example to each subcommand, by its name. */
export function subcommandExamples(group: Command, lines: { readonly [name: string]: string }): void {
  for (const command of group.commands) {
    const commandLine = lines[command.name()];
    if (commandLine !== undefined) examples(command, [["", commandLine]]);
  }
}
