import type { Command } from "commander";
import { EXIT_CODES } from "../failures/exit-codes.js";

/** `docs/reference/cli.md`, made of the commands themselves; a test holds the page against it. */
export function cliReference(root: Command): string {
  return `# Command line

\`sluice\` is in the package \`sluice\`; in this repository \`npx sluice …\` runs it after \`npm run build\`. It needs Node.js
22.13 or newer. Every command has \`--json\` and \`--help\`. Where \`npx\` runs it, this in a shell's profile makes \`sluice\` a
word of its own, which completion knows too: \`sluice() { npx sluice "$@"; }; source <(sluice completion bash)\`.

Commands that talk to a collector find it by \`--url\` or \`SLUICE_URL\`, else they take the \`sluice dev\` that runs on the
data folder (\`./.sluice\`), else \`http://127.0.0.1:8787\`. The admin token comes from \`--token\`, \`SLUICE_TOKEN\` or \`SLUICE_ADMIN_TOKEN\`, else from
the data folder (for a collector on this machine only); the write key from \`--write-key\` or \`SLUICE_WRITE_KEY\`, else it is that of the source which \`sluice dev\`
made. What stands in the data folder is only used where it names this machine (a loopback address) and belongs to you: it may have come
with a repository, and tokens are sent where it says.

Results go to stdout, everything else (progress, warnings, errors, logs) to stderr. \`NO_COLOR\` and \`FORCE_COLOR\` are
obeyed. What comes from events, receivers and file names is escaped before it is printed: control characters never reach
the terminal, and JSON stays the same JSON.

## Exit codes

| code | meaning |
| --- | --- |
${Object.values(EXIT_CODES)
  .map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  .join("\n")}

## Commands

${root.commands.map((command) => section(command, ["sluice"], 3)).join("\n")}`;
}

function section(command: Command, path: readonly string[], level: number): string {
  const name = [...path, command.name()];
  const options = command.options.map(({ flags, description, defaultValue }) => {
    const fallback =
      typeof defaultValue === "string" || typeof defaultValue === "number"
        ? ` Default: \`${defaultValue}\`.`
        : "";
    return `| \`${flags.replaceAll("|", "\\|")}\` | ${cell(description)}.${fallback} |`;
  });
  const usage = `${name.join(" ")} ${command.usage()}`.trim();
  return `${"#".repeat(level)} ${name.join(" ")}

${sentence(command.description())}

\`\`\`
${usage}
\`\`\`
${argumentsOf(command)}${options.length === 0 ? "" : `\n| option | meaning |\n| --- | --- |\n${options.join("\n")}\n`}
${command.commands.map((inner) => section(inner, name, level + 1)).join("\n")}`;
}

function argumentsOf(command: Command): string {
  const described = command.registeredArguments.filter(({ description }) => description !== "");
  if (described.length === 0) return "";
  return `\n${described.map((argument) => `- \`${argument.name()}\`: ${argument.description}`).join("\n")}\n`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/[<>]/g, (bracket) => (bracket === "<" ? "&lt;" : "&gt;"));
}
