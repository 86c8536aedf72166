import { Command } from "commander";
import type { Io } from "../terminal/io.js";

/** A command of `sluice`, made anew for each run. */
export type CommandMaker = (io: Io) => Command;

/** A command that only has others below it. */
export function newGroup(name: string, summary: string): Command {
  return new Command(name)
    .description(summary)
    .showHelpAfterError("Run it with --help to see what there is.");
}

/** A command with the options that all have. */
export function newCommand(name: string, summary: string): Command {
  return new Command(name)
    .description(summary)
    .option("--json", "print JSON for programs instead of text for people")
    .showHelpAfterError("Run it with --help to see what it takes.");
}

/** Examples at the end of `--help`: a comment line and a command line each, which is shown as it is typed: with npx. */
export function examples(
  command: Command,
  lines: readonly (readonly [what: string, how: string])[],
): Command {
  return command.addHelpText(
    "after",
    `\nExamples:\n${lines.map(([what, how]) => `  # ${what}\n  $ ${how.replace(/^sluice /, "npx sluice ")}`).join("\n\n")}\n`,
  );
}

/** The same for each command of a group, by its name. */
export function exampleOfEach(group: Command, lines: { readonly [name: string]: string }): void {
  for (const command of group.commands) {
    const how = lines[command.name()];
    if (how !== undefined) examples(command, [[command.description(), how]]);
  }
}
