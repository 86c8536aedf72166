import { Argument, type Command } from "commander";
import { completionScript, examples, newCommand, SHELLS, type Shell } from "../definition.js";
import type { Io } from "../terminal/io.js";
import { show } from "../terminal/show.js";

export function completionCommand(io: Io): Command {
  const command = newCommand("completion", "print a completion script for a shell");
  command
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(async (shell: Shell, options: { json?: boolean }) => {
      const script = completionScript(shell, command.parent ?? command);
      await show(io, options.json, { shell, script }, () => script);
    });
  return examples(command, [
    ["bash, for this session", "source <(sluice completion bash)"],
    [
      "In a clone or a project, where npx runs it: define sluice first, then its completion",
      'sluice() { npx sluice "$@"; }; source <(sluice completion bash)',
    ],
    ["zsh", "source <(sluice completion zsh)"],
    ["fish", "sluice completion fish > ~/.config/fish/completions/sluice.fish"],
  ]);
}
