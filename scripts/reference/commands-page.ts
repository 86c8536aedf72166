import type { Command } from "commander";
import { EXIT_CODES } from "../failures/exit-codes.js";

/** Generates `docs/reference/cli.md` from the commands. A test compares it with the page. */
export function cliReference(root: Command): string {
  return `# Command line

\`sluice\` is the command of the package \`sluice\`. In a clone, run it with \`npx sluice …\` after \`npm run build\`;
[Install](../guide/install.md) has other ways.
It needs Node.js 22.13 or newer. Every command has \`--json\` and \`--help\`.

To type \`sluice\` instead of \`npx sluice\`, with completion, add this to your shell's profile:
\`sluice() { npx sluice "$@"; }; source <(sluice completion bash)\`.

Commands find the collector in this order:

| | collector's address | admin token | write key |
| --- | --- | --- | --- |
| 1. option | \`--url\` | \`--token\` | \`--write-key\` |
| 2. environment | \`SLUICE_URL\` | \`SLUICE_TOKEN\`, \`SLUICE_ADMIN_TOKEN\` | \`SLUICE_WRITE_KEY\` |
| 3. data folder (\`./.sluice\`) | the running \`sluice dev\` | the token of \`sluice dev\` | the first source of \`sluice dev\` |
| 4. default | \`http://127.0.0.1:8787\` | | |

A data folder may come with a cloned repository. So its address is only used if it is a loopback address and the file
belongs to you, and its token is only sent to this machine.

Results go to stdout. Progress, warnings, errors and logs go to stderr. \`NO_COLOR\` and \`FORCE_COLOR\` are supported.
Text from events, receivers and file names is escaped before it is printed: control characters never reach the terminal,
and JSON output parses to the same value.

## Errors

An error is printed to stderr: \`error:\` with what was wrong, and \`hint:\` with what to do. With \`--json\` the last line
of stderr is one JSON object instead, also for a wrong command line:

\`\`\`json
{ "error": { "code": "not_found", "message": "There is no source Shop", "hint": "…" } }
\`\`\`

\`code\` is the collector's [error code](errors.md) if the collector refused a request, otherwise the name of the exit code:
${Object.keys(EXIT_CODES)
  .filter((name) => name !== "ok")
  .map((name) => `\`${name}\``)
  .join(", ")}. \`hint\` is absent if there is none.

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
${argumentList(command)}${options.length === 0 ? "" : `\n| option | meaning |\n| --- | --- |\n${options.join("\n")}\n`}
${command.commands.map((inner) => section(inner, name, level + 1)).join("\n")}`;
}

function argumentList(command: Command): string {
  const described = command.registeredArguments.filter(({ description }) => description !== "");
  if (described.length === 0) return "";
  return `\n${described.map((argument) => `- \`${argument.name()}\`: ${argument.description}`).join("\n")}\n`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Escapes a text for a cell of a Markdown table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/[<>]/g, (bracket) => (bracket === "<" ? "&lt;" : "&gt;"));
}
