import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import type { Command } from "commander";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { examples } from "../../definition.js";
import { CommandFailure, Finding } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import type { Style } from "../../terminal/style.js";
import { plural } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type CurrentConfig, readCurrentConfig } from "./current-config.js";
import { readDeclaredConfig } from "./declared-config.js";
import { makeChanges } from "./make-changes.js";
import { type Change, NOUNS, planAllChanges } from "./plan-changes.js";
import { planTransformations, readTransformations } from "./plan-transformations.js";

/** Throws for changes that cannot be made, before any is made. */
export function checkChanges(changes: readonly Change[], current: CurrentConfig): void {
  for (const change of changes) {
    if (change.action === "update" && change.section === "sources") checkFixedFields(change);
    if (change.action !== "delete") checkReferences(change, changes, current);
  }
}

function checkFixedFields({ name, fields }: Extract<Change, { readonly action: "update" }>): void {
  if ("kind" in fields)
    throw new CommandFailure(
      "usage",
      `The kind of the source ${name} is different, and a kind cannot be changed`,
      "Delete the source first",
    );
}

/** The fields in which items refer to others by name, with the section of those. */
const REFERENCES = {
  transformations: [],
  sources: [["transformation", "transformations"]],
  destinations: [
    ["sources", "sources"],
    ["transformation", "transformations"],
  ],
  audiences: [["destinations", "destinations"]],
} as const;

function checkReferences(
  { section, name, fields }: Exclude<Change, { readonly action: "delete" }>,
  changes: readonly Change[],
  current: CurrentConfig,
): void {
  for (const [field, target] of REFERENCES[section]) {
    const wanted = [fields[field] ?? []].flat();
    const known = namesAfter(target, changes, current);
    const missing = wanted.find((one) => !known.includes(one as string));
    if (missing !== undefined)
      throw new CommandFailure(
        "usage",
        `${section}: ${name} refers to the ${NOUNS[target]} ${missing}, which does not exist`,
        "Declare it in the file, or correct its name",
      );
  }
}

/** The names in a section after the changes. */
function namesAfter(
  section: "transformations" | "sources" | "destinations",
  changes: readonly Change[],
  current: CurrentConfig,
): string[] {
  const names = (action: Change["action"]) =>
    changes.filter((one) => one.section === section && one.action === action).map(({ name }) => name);
  const deleted = names("delete");
  const kept = [...current[section].map(({ name }) => name), ...names("create")].filter(
    (name) => !deleted.includes(name),
  );
  return section === "sources" ? [...kept, INCIDENT_SOURCE_ID] : kept;
}

const DEFAULT_FILES = ["sluice.config.ts", "sluice.config.mjs", "sluice.config.js", "sluice.config.json"];

interface LoadedConfig {
  /** Parsed JSON, or the default export of a module. */
  readonly contents: unknown;
  /** Files that it names are relative to it. */
  readonly folder: string;
}

async function loadConfig(given: string | undefined, io: Io): Promise<LoadedConfig> {
  const file =
    given === undefined
      ? DEFAULT_FILES.map((name) => resolve(io.cwd, name)).find((path) => existsSync(path))
      : resolve(io.cwd, given);
  if (file === undefined)
    throw new CommandFailure(
      "usage",
      `There is no configuration file in ${io.cwd}`,
      `Create one of ${DEFAULT_FILES.join(", ")}, or name a file`,
    );
  try {
    const folder = dirname(file);
    if (file.endsWith(".json")) return { contents: JSON.parse(await readFile(file, "utf8")), folder };
    const module: { default?: unknown } = await import(pathToFileURL(file).href);
    return { contents: module.default, folder };
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

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
