import type { Command } from "commander";

/** All commands with their arguments and options, as Markdown. */
export function commandsPage(root: Command): string {
  return `# All commands

${root.commands.map((command) => section(command, ["sluice"], 2)).join("\n")}`;
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
