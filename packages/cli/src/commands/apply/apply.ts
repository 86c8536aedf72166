import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type AdminClient, allPages } from "@sluice/admin-client";
import type { AudienceInput, DestinationInput, ListAnswer, SourceInput } from "@sluice/protocol";
import type { Command } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure, Finding } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import type { Style } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type DeclaredConfig, readDeclaredConfig } from "./declared-config.js";
import { type Change, type CurrentItem, type Fields, type PlanOptions, planChanges } from "./plan-changes.js";

interface ApplyOptions extends ConnectionOptions {
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly setSecrets?: boolean;
  readonly json?: boolean;
}

const DEFAULT_FILES = ["sluice.config.ts", "sluice.config.mjs", "sluice.config.js", "sluice.config.json"];

export function applyCommand(io: Io): Command {
  const command = withConnection(
    newCommand("apply", "make sources, destinations and audiences as a configuration file declares them"),
  )
    .argument("[file]", `the file (default: the first there is of ${DEFAULT_FILES.join(", ")})`)
    .option("--dry-run", "show what would change, change nothing; exit code 6 when there is something")
    .option("--prune", "delete what the file does not declare, in the sections that it has")
    .option(
      "--set-secrets",
      "send secrets again: a changed one cannot be seen, the collector shows only that one is set",
    )
    .addHelpText(
      "after",
      `
File: { "sources": [{ "name": "Shop", "kind": "web" }],
        "destinations": [{ "name": "Orders", "type": "webhooks", "sources": ["Shop"],
          "settings": { "webhooks": [{ "url": "https://example.com/hook" }], "sharedSecret": "\${HOOK_SECRET}" } }],
        "audiences": [{ "name": "Big spenders", "condition": { … }, "destinations": ["Orders"] }] }
Things are known by their names: a new name in the file makes a new thing, and --prune deletes the old one. To rename one and
keep its keys and history, do so first: sluice sources update Shop --name Store.
A .ts file exports the same as its default. \${NAME} is replaced by the environment variable.
`,
    )
    .action((file: string | undefined, options: ApplyOptions) => apply(file, options, io));
  return examples(command, [
    ["What would change?", "sluice apply --dry-run"],
    [
      "In production",
      "HOOK_SECRET=… sluice apply sluice.config.json --url https://events.example.com --token …",
    ],
  ]);
}

async function apply(file: string | undefined, options: ApplyOptions, io: Io): Promise<void> {
  const declared = readDeclaredConfig(await loadFile(file, io), io.env);
  const client = await connect(options, io);
  const plan: PlanOptions = { prune: options.prune === true, setSecrets: options.setSecrets === true };
  const before = await readCurrent(client, declared);
  const changes = planAll(declared, before, plan);
  checkChanges(changes, before);
  if (options.dryRun) {
    if (options.json) await io.out(`${terminalJson({ changes: changes.map(shown) })}\n`);
    else
      await io.out(
        changes.length === 0
          ? "nothing to change\n"
          : changes.map((change) => lines(change, io.style)).join(""),
      );
    if (changes.length > 0)
      throw new Finding("partly", `${plural(changes.length, "change", "changes")} would be made`);
    return;
  }
  const ids: Ids = {
    sources: new Map(before.sources.map(({ name, id }) => [name, id])),
    destinations: new Map(before.destinations.map(({ name, id }) => [name, id])),
  };
  for (const change of changes) {
    await carryOut(client, change, ids);
    if (!options.json) await io.out(lines(change, io.style));
  }
  if (options.json) await io.out(`${terminalJson({ changes: changes.map(shown) })}\n`);
  else
    await io.out(
      changes.length === 0 ? "nothing to change\n" : `${plural(changes.length, "change", "changes")} made\n`,
    );
}

async function loadFile(given: string | undefined, io: Io): Promise<unknown> {
  const file =
    given === undefined
      ? DEFAULT_FILES.map((name) => resolve(io.cwd, name)).find((path) => existsSync(path))
      : resolve(io.cwd, given);
  if (file === undefined)
    throw new CommandFailure("usage", `There is no ${DEFAULT_FILES.join(" or ")} in ${io.cwd}`);
  try {
    if (file.endsWith(".json")) return JSON.parse(await readFile(file, "utf8"));
    const module: { default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface Current {
  readonly sources: readonly CurrentItem[];
  readonly destinations: readonly CurrentItem[];
  readonly audiences: readonly CurrentItem[];
}

/** What the collector has, with names in the place of ids, as it is declared. */
async function readCurrent(client: AdminClient, declared: DeclaredConfig): Promise<Current> {
  const sources = await collect((cursor) => client.sources.list({ cursor }));
  const destinations = await collect((cursor) => client.destinations.list({ cursor }));
  const nameOf = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
  const names = (ids: readonly string[]): string[] => ids.map((id) => nameOf.get(id) ?? id).sort();
  return {
    sources: sources.map((source) => ({ ...source })),
    destinations: destinations.map(({ sourceIds, ...rest }) => ({ ...rest, sources: names(sourceIds) })),
    audiences: declared.audiences === undefined ? [] : await readAudiences(client, names),
  };
}

async function readAudiences(
  client: AdminClient,
  names: (ids: readonly string[]) => string[],
): Promise<CurrentItem[]> {
  const audiences = await collect((cursor) => client.audiences.list({ cursor }));
  return audiences.map(({ destinationIds, ...rest }) => ({ ...rest, destinations: names(destinationIds) }));
}

async function collect<T>(page: (cursor: string | undefined) => Promise<ListAnswer<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of allPages(page)) items.push(item);
  return items;
}

function planAll(declared: DeclaredConfig, current: Current, options: PlanOptions): Change[] {
  const destinations = declared.destinations?.map((one) => ({
    type: "webhooks",
    ...one,
    ...(one.sources === undefined ? {} : { sources: [...one.sources].sort() }),
  }));
  const audiences = declared.audiences?.map((one) => ({
    ...one,
    ...(one.destinations === undefined ? {} : { destinations: [...one.destinations].sort() }),
  }));
  const changes = [
    ...planChanges(
      "sources",
      declared.sources?.map((one) => ({ ...one })),
      current.sources,
      options,
    ),
    ...planChanges("destinations", destinations, current.destinations, options),
    ...planChanges("audiences", audiences, current.audiences, options),
  ];
  // What others refer to is made first and deleted last.
  const isDelete = ({ action }: Change) => action === "delete";
  return [...changes.filter((change) => !isDelete(change)), ...changes.filter(isDelete).reverse()];
}

/** What cannot be done is said before anything is done, on a dry run too. */
function checkChanges(changes: readonly Change[], current: Current): void {
  const gone = (section: Change["section"]) =>
    changes.filter((one) => one.section === section && one.action === "delete").map(({ name }) => name);
  const there = (section: "sources" | "destinations") => {
    const made = changes.filter((one) => one.section === section && one.action === "create");
    const removed = gone(section);
    return [...current[section], ...made].map(({ name }) => name).filter((name) => !removed.includes(name));
  };
  for (const change of changes) {
    if (change.action === "delete") continue;
    const { section, name, fields } = change;
    if (change.action === "update" && section === "sources" && "kind" in fields)
      throw new CommandFailure(
        "usage",
        `The source ${name} has another kind, which cannot be changed: delete it first`,
      );
    const refers =
      section === "destinations" ? "sources" : section === "audiences" ? "destinations" : undefined;
    if (refers === undefined || !Array.isArray(fields[refers])) continue;
    const known = there(refers);
    const missing = fields[refers].find((wanted) => !known.includes(wanted));
    if (missing !== undefined)
      throw new CommandFailure(
        "usage",
        `${section}: ${name} names the ${ONE[refers]} ${missing}, which there is not`,
      );
  }
}

interface Ids {
  readonly sources: Map<string, string>;
  readonly destinations: Map<string, string>;
}

async function carryOut(client: AdminClient, change: Change, ids: Ids): Promise<void> {
  const { section } = change;
  if (change.action === "delete") {
    await client[section].delete(change.id);
    return;
  }
  const body = withIds(section, change.fields, ids);
  if (change.action === "update") {
    await client[section].patch(change.id, { ...body, version: change.version });
    return;
  }
  if (section === "sources") {
    const { id } = await client.sources.create(body as unknown as SourceInput);
    ids.sources.set(change.name, id);
  } else if (section === "destinations") {
    const { id } = await client.destinations.create(body as unknown as DestinationInput);
    ids.destinations.set(change.name, id);
  } else await client.audiences.create(body as unknown as AudienceInput);
}

/** Fields as the API takes them: ids in the place of names. */
function withIds(section: Change["section"], fields: Fields, ids: Ids): Fields {
  const idsOf = (names: unknown, of: ReadonlyMap<string, string>, what: string): string[] =>
    (Array.isArray(names) ? names : []).map((name: string) => {
      const id = of.get(name);
      if (id === undefined) throw new CommandFailure("usage", `There is no ${what} ${name}`);
      return id;
    });
  const { sources, destinations, ...rest } = fields;
  if (section === "destinations" && sources !== undefined)
    return { ...rest, sourceIds: idsOf(sources, ids.sources, "source") };
  if (section === "audiences" && destinations !== undefined)
    return { ...rest, destinationIds: idsOf(destinations, ids.destinations, "destination") };
  return rest;
}

/** A change as JSON, without what it would send: secrets are in that. */
function shown(change: Change): object {
  const { action, section, name } = change;
  return {
    action,
    section,
    name,
    ...(change.action === "update" ? { differences: change.differences } : {}),
  };
}

const ONE = { sources: "source", destinations: "destination", audiences: "audience" } as const;

function lines(change: Change, style: Style): string {
  const what = `${ONE[change.section]} ${terminalText(change.name)}`;
  switch (change.action) {
    case "create":
      return `${style.green("+")} ${what}\n`;
    case "delete":
      return `${style.red("-")} ${what}\n`;
    case "update": {
      const details = change.differences.map(
        ({ path, before, after }) =>
          `    ${terminalText(path)}: ${before === undefined ? "" : `${style.red(terminalJson(before.value))} → `}${style.green(terminalJson(after?.value))}\n`,
      );
      return `${style.yellow("~")} ${what}\n${details.join("")}`;
    }
    default:
      return change satisfies never;
  }
}
