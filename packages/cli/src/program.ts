import { planTypes } from "@sluice/protocol";
import { Argument, Command, type CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { applyCommand } from "./commands/apply/apply.js";
import { clusterCommand } from "./commands/cluster/cluster.js";
import { doctorCommand } from "./commands/doctor/doctor.js";
import { importCommand } from "./commands/import/import.js";
import { listenCommand } from "./commands/listen/listen.js";
import { exportCommand } from "./commands/messages/export.js";
import { replayCommand } from "./commands/messages/replay.js";
import { sendCommand } from "./commands/messages/send.js";
import { tailCommand } from "./commands/messages/tail.js";
import { readPlanFile, writeMade } from "./commands/plans/read-plan-file.js";
import { viewsCommand } from "./commands/plans/views.js";
import { group, single } from "./commands/resources/groups.js";
import { backupCommand, restoreCommand } from "./commands/run/backup.js";
import { collectorCommand } from "./commands/run/collector.js";
import { devCommand } from "./commands/run/dev.js";
import { migrateCommand } from "./commands/run/migrate.js";
import { repairCommand } from "./commands/run/repair.js";
import { type CommandOptions, connect, connectedCommand } from "./connection/connection.js";
import {
  type CommandMaker,
  completionScript,
  examples,
  HELP_OPTION,
  newCommand,
  SHELLS,
  type Shell,
} from "./definition.js";
import { readJson } from "./endpoints/fields.js";
import { CommandFailure, EXIT_CODES } from "./failures.js";
import type { Io } from "./terminal/io.js";
import { asStarted } from "./terminal/io.js";
import { shellWord } from "./terminal/style.js";
import { show, terminalJson, wrapLines } from "./terminal/terminal-text.js";

/** Every command, in the order of `sluice --help`. */
export const COMMANDS: readonly CommandMaker[] = [
  devCommand,
  collectorCommand,
  sendCommand,
  importCommand,
  exportCommand,
  tailCommand,
  listenCommand,
  group("messages"),
  group("deliveries"),
  replayCommand,
  group("operations"),
  group("sources"),
  group("events"),
  typesCommand,
  viewsCommand,
  group("destinations"),
  group("transformations"),
  group("audiences"),
  group("traits"),
  group("profiles"),
  group("deletions"),
  group("incidents"),
  group("tokens"),
  single("audit"),
  apiCommand,
  applyCommand,
  single("reset"),
  doctorCommand,
  clusterCommand,
  backupCommand,
  restoreCommand,
  repairCommand,
  migrateCommand,
  completionCommand,
];

/** The whole command line. The collector and other large modules are only loaded when a command needs them. */
export function program(io: Io): Command {
  const root = new Command("sluice")
    .description("Collect events, store them durably and deliver them as signed webhooks.")
    .version(manifest.version, "-V, --version", "print the version")
    .helpOption("-h, --help", HELP_OPTION)
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText(
      "after",
      `\nExit codes:\n${Object.values(EXIT_CODES)
        .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
        .join(
          "\n",
        )}\n\nSet NO_COLOR to switch colours off. Data from events is escaped before it is printed.\n`,
    );
  for (const make of COMMANDS) root.addCommand(make(io));
  prepare(root, io);
  return root;
}

/** Makes Commander write to `io`, and throw our errors instead of ending the process. */
function prepare(command: Command, io: Io, path = "npx sluice"): void {
  const help = (text: string): string => wrapLines(asStarted(text, io), io.columns);
  command
    .exitOverride((error) => {
      throw usageFailure(error, command, path);
    })
    .configureOutput({
      writeOut: (text) => void io.out(help(text)),
      writeErr: (text) => io.err(help(text)),
      // `reportFailure` prints errors.
      outputError: () => {},
      getOutHelpWidth: () => io.columns,
      getErrHelpWidth: () => io.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  for (const inner of command.commands) prepare(inner, io, `${path} ${inner.name()}`);
}

/** The failure for a wrong command line. Help that was asked for, or printed instead of running a group, is none. */
function usageFailure(error: CommanderError, command: Command, path: string): Error {
  if (error.exitCode === 0 || error.code === "commander.help") return error;
  const text = error.message.replace(/^error: /, "");
  const what = command.commands.length > 0 ? "commands" : "arguments and options";
  return new CommandFailure(
    "usage",
    `${text.charAt(0).toUpperCase()}${text.slice(1)}`,
    `Run \`${path} --help\` to see the ${what}`,
  );
}

interface TypesOptions {
  readonly json?: boolean;
  readonly out?: string;
  readonly check?: boolean;
  readonly name: string;
}

function typesCommand(io: Io): Command {
  const command = newCommand("types", "make TypeScript types of a tracking plan, for `new Analytics<Plan>()`")
    .argument("<plan>", "a JSON file: a tracking plan, or an export of Segment or RudderStack")
    .option("--out <file>", "write the types to this file (default: print them)")
    .option("--check", "write nothing, and fail if the file of --out is not up to date")
    .option("--name <type>", "the name of the type", "Plan")
    .action((plan: string, options: TypesOptions) => run(plan, options, io));
  return examples(command, [
    ["Make the types", "sluice types plan.json --out src/plan.ts"],
    ["In CI: fail if somebody forgot to", "sluice types plan.json --out src/plan.ts --check"],
  ]);
}

async function run(given: string, { out, check, name, json }: TypesOptions, io: Io): Promise<void> {
  if (check && out === undefined)
    throw new CommandFailure("usage", "--check needs --out: the file to compare with");
  if (!/^[A-Za-z_$][\w$]*$/.test(name))
    throw new CommandFailure("usage", `--name must be the name of a type, got ${name}`);
  const { plan } = await readPlanFile(given, io);
  const again = [
    "npx sluice types",
    shellWord(given),
    ...(out === undefined ? [] : ["--out", shellWord(out)]),
    ...(name === "Plan" ? [] : ["--name", name]),
  ];
  const text = planTypes(plan, {
    typeName: name,
    head: `Made from a tracking plan. Do not edit this file: change the plan and run\n${again.join(" ")}`,
  });
  await writeMade({ text, out, check, json, again, key: "types" }, io);
}

function completionCommand(io: Io): Command {
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

/** `sluice api`: any request to the control API. */
function apiCommand(io: Io): Command {
  const command = connectedCommand("api", "send a request to the control API and print the response")
    .addArgument(new Argument("<method>").choices(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    .argument("<path>", "the path below /api/v1, with its query")
    .option("--data <json>", "the body: JSON, or @FILE")
    .action((method: string, path: string, options: CommandOptions & { readonly data?: string }) =>
      request(method, path, options, io),
    );
  return examples(command, [
    ["The rates of the last five minutes", "sluice api GET '/counters?of=collector&span=5m'"],
    ["A source", `sluice api POST /sources --data '{"name": "Shop"}'`],
  ]);
}

async function request(
  method: string,
  path: string,
  options: CommandOptions & { readonly data?: string },
  io: Io,
): Promise<void> {
  const client = await connect(options, io);
  const body = options.data === undefined ? undefined : await readJson("data", options.data, io);
  const route = `/${path.replace(/^\/*(api\/v1(\/|$))?/, "")}`;
  const response = await client.request(method, route, body, io.interrupted);
  if (response.headers.get("content-type")?.startsWith("application/json"))
    return io.out(`${terminalJson(await response.json(), options.json ? 0 : 2)}\n`);
  for await (const part of response.body ?? []) await io.outBytes(part);
}
