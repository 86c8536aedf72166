import { Command } from "commander";
import type { Io } from "./terminal/io.js";

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

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The words that can follow a command. */
interface CommandWords {
  /** `["sources", "create"]` for `sluice sources create`; empty for `sluice`. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly { readonly flags: readonly string[]; readonly summary: string }[];
}

/** A completion script with all commands and options in it, so that completing starts no process. */
export function completionScript(shell: Shell, root: Command): string {
  const all = wordsOf(root, []);
  switch (shell) {
    case "bash":
      return bash(all);
    case "zsh":
      return `#compdef sluice\n(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\nautoload -U +X bashcompinit && bashcompinit\n${bash(all)}`;
    case "fish":
      return fish(all);
    default:
      return shell satisfies never;
  }
}

function wordsOf(command: Command, path: readonly string[]): CommandWords[] {
  return [
    {
      path,
      commands: command.commands.map((inner) => ({ name: inner.name(), summary: inner.description() })),
      options: [
        ...command.options.map(({ short, long, description }) => ({
          flags: [short, long].filter((flag) => flag !== undefined && flag !== null) as string[],
          summary: description,
        })),
        { flags: ["-h", "--help"], summary: HELP_OPTION },
      ],
    },
    ...command.commands.flatMap((inner) => wordsOf(inner, [...path, inner.name()])),
  ];
}

function bash(all: readonly CommandWords[]): string {
  const cases = all
    .map(({ path, commands, options }) => {
      const words = [...commands.map(({ name }) => name), ...options.flatMap(({ flags }) => flags)];
      return `    "${path.join(" ")}") words="${words.join(" ")}" ;;`;
    })
    .join("\n");
  const known = all.map(({ path }) => `"${path.join(" ")}"`).join("|");
  return `_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" next words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${known}) path="$next" ;;
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _sluice sluice
`;
}

function fish(all: readonly CommandWords[]): string {
  const lines = all.flatMap(({ path, commands, options }) => {
    const condition = `__sluice_at ${path.map(quoted).join(" ")}`.trim();
    return [
      ...commands.map(
        ({ name, summary }) =>
          `complete -c sluice -n ${quoted(condition)} -f -a ${quoted(name)} -d ${quoted(summary)}`,
      ),
      ...options.map(({ flags, summary }) => {
        const names = flags.map((flag) =>
          flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        return `complete -c sluice -n ${quoted(condition)} ${names.join(" ")} -d ${quoted(summary)}`;
      }),
    ];
  });
  return `function __sluice_at
  set -l words (commandline -opc)[2..-1]
  set -l path (string match -v -- '-*' $words)
  test (count $path) -ge (count $argv); or return 1
  for i in (seq (count $argv))
    test "$path[$i]" = "$argv[$i]"; or return 1
  end
  contains -- (count $argv) 0; and test (count $path) -gt 0; and return 1
  return 0
end
${lines.join("\n")}
`;
}

/** Quotes a text for fish, unless it is a plain word. */
function quoted(text: string): string {
  if (/^[\w-]+$/.test(text)) return text;
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
