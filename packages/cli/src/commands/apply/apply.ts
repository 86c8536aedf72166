import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import { Finding } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import type { Style } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { checkChanges } from "./check-changes.js";
import { readCurrentConfig } from "./current-config.js";
import { readDeclaredConfig } from "./declared-config.js";
import { DEFAULT_FILES, loadConfig } from "./load-config.js";
import { makeChanges } from "./make-changes.js";
import { type Change, NOUNS, planAllChanges } from "./plan-changes.js";
import { planTransformations, readTransformations } from "./plan-transformations.js";

interface ApplyOptions extends CommandOptions {
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly setSecrets?: boolean;
}

const FILE_HELP = `
File: { "sources": [{ "name": "Shop", "kind": "web" }],
        "destinations": [{ "name": "Orders", "type": "webhooks", "sources": ["Shop"],
          "settings": { "webhooks": [{ "url": "https://example.com/hook" }], "sharedSecret": "\${HOOK_SECRET}" } }],
        "transformations": [{ "name": "Hash e-mail", "file": "hash-email.ts", "secrets": { "KEY": "\${HASH_KEY}" } }],
        "audiences": [{ "name": "Big spenders", "condition": { … }, "destinations": ["Orders"] }] }
Destinations and sources name a transformation as "transformation"; null detaches it.
Items are identified by name: a new name creates a new item, and --prune deletes the old one. To rename an item and keep its
keys and history, rename it first: npx sluice sources update Shop --name Store.
A .ts file has the same object as its default export. \${NAME} is replaced with the environment variable.
`;

export function applyCommand(io: Io): Command {
  const command = connectedCommand(
    "apply",
    "create and update sources, destinations, transformations and audiences from a configuration file",
  )
    .argument("[file]", `the file (default: the first that exists of ${DEFAULT_FILES.join(", ")})`)
    .option("--dry-run", "show the changes without making them; exit code 6 if there are any")
    .option("--prune", "delete items that are not in the file, in the sections that the file has")
    .option(
      "--set-secrets",
      "send all secrets again: the collector does not show secrets, so a changed one is not noticed",
    )
    .addHelpText("after", FILE_HELP)
    .action((file: string | undefined, options: ApplyOptions) => apply(file, options, io));
  return examples(command, [
    ["Show the changes", "sluice apply --dry-run"],
    [
      "In production",
      "HOOK_SECRET=… sluice apply sluice.config.json --url https://events.example.com --token …",
    ],
  ]);
}

async function apply(file: string | undefined, options: ApplyOptions, io: Io): Promise<void> {
  const { dryRun, json, prune = false, setSecrets = false } = options;
  const { contents, folder } = await loadConfig(file, io);
  const declared = readDeclaredConfig(contents, io.env);
  const wanted = await readTransformations(declared.transformations, folder, io);
  const client = await connect(options, io);
  const current = await readCurrentConfig(client, declared);
  const planning = { prune, setSecrets };
  const transformations = planTransformations(wanted, current.transformations, planning);
  const changes = planAllChanges(declared, current, transformations, planning);
  checkChanges(changes, current);
  const count = plural(changes.length, "change", "changes");
  const printLines = async (change: Change) => {
    if (!json) await io.out(changeLines(change, io.style));
  };
  if (dryRun) for (const change of changes) await printLines(change);
  else await makeChanges(client, changes, current, printLines);

  if (json) await io.out(`${terminalJson({ changes: changes.map(changeJson) })}\n`);
  else if (changes.length === 0) await io.out("nothing to change\n");
  else if (!dryRun) await io.out(`${count} made\n`);
  if (dryRun && changes.length > 0) throw new Finding("partly", `${count} would be made`);
}

/** A change as JSON. It leaves out the fields to send, because they contain secrets. */
function changeJson(change: Change): object {
  const { action, section, name } = change;
  return {
    action,
    section,
    name,
    ...(change.action === "update" ? { differences: change.differences } : {}),
  };
}

function changeLines(change: Change, style: Style): string {
  const item = `${NOUNS[change.section]} ${terminalText(change.name)}`;
  switch (change.action) {
    case "create":
      return `${style.green("+")} ${item}\n`;
    case "delete":
      return `${style.red("-")} ${item}\n`;
    case "update": {
      const details = change.differences.map(({ path, before, after }) => {
        const removed = before === undefined ? "" : `${style.red(terminalJson(before.value))} → `;
        return `    ${terminalText(path)}: ${removed}${style.green(terminalJson(after?.value))}\n`;
      });
      return `${style.yellow("~")} ${item}\n${details.join("")}`;
    }
    default:
      return change satisfies never;
  }
}
