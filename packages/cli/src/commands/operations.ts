import type { AdminClient } from "@sluice/admin-client";
import type { OperationFilter, OperationInput, OperationKind, OperationView } from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields, withTimeRange } from "../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../connection/connection.js";
import { findByName } from "../connection/find-by-name.js";
import { examples } from "../definition.js";
import { CommandFailure, Finding } from "../failures.js";
import type { Io } from "../terminal/io.js";
import { asStarted } from "../terminal/io.js";
import { plural, shellWord } from "../terminal/style.js";
import { show, terminalText } from "../terminal/terminal-text.js";

const BAR_WIDTH = 24;

function hasEnded({ state }: OperationView): boolean {
  return state !== "selecting" && state !== "running";
}

/** `1100 delivered, 4 failed again (HTTP 503), 100 skipped`. */
function resultText({ results, causes, waiting }: OperationView): string {
  const why = causes.map(({ title }) => title).join(", ");
  const parts = [
    [results.delivered, "delivered"],
    [results.discarded, "discarded"],
    [results.failed, `failed again${why === "" ? "" : ` (${why})`}`],
    [results.skipped, "skipped"],
    [waiting, "waiting for a result"],
  ] as const;
  const shown = parts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]));
  return terminalText(shown.length === 0 ? "no results yet" : shown.join(", "));
}

/** The line that is updated while an operation runs. */
function progressText(operation: OperationView): string {
  const { state, total, done, ratePerSecond } = operation;
  if (state === "selecting") return "Finding the deliveries …";
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${total}  ${Math.round(ratePerSecond)}/s`;
}

/** `retry op_1: finished, 1204 deliveries: 1100 delivered, …`. */
export function summaryText(operation: OperationView): string {
  const { id, kind, state, total } = operation;
  const head = `${kind} ${terminalText(id)}: ${state}, ${plural(total, "delivery", "deliveries")}`;
  return `${head}: ${resultText(operation)}\n`;
}

const ASK_EVERY_MS = 500;

/**
 * Follows an operation to its end, with a progress line on a terminal. Ctrl-C stops following; the operation goes on. Resolves with the
 * operation as it is then.
 */
export async function followOperation(
  client: AdminClient,
  started: OperationView,
  io: Io,
): Promise<OperationView> {
  let operation = started;
  while (!hasEnded(operation) && !io.interrupted.aborted) {
    if (io.isErrTerminal) io.err(`\r${progressText(operation)}\u001b[K`);
    await pause(io.interrupted);
    operation = await client.operations.get(started.id);
  }
  if (io.isErrTerminal) io.err("\r\u001b[K");
  return operation;
}

/** Ends early on Ctrl-C. */
function pause(interrupted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      interrupted.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ASK_EVERY_MS);
    interrupted.addEventListener("abort", end);
  });
}

/** The options that choose deliveries. */
export interface BulkOptions extends CommandOptions {
  readonly destination?: string;
  readonly cause?: string;
  readonly state?: string;
  readonly type?: string;
  readonly event?: string;
  readonly user?: string;
  readonly from?: string;
  readonly to?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly follow: boolean;
}

export function withSelection(command: Command): Command {
  command
    .option("--destination <destination>", "only of this destination: id or name")
    .option("--cause <cause>", "only with this cause, such as http_503 or timeout")
    .option("--state <state>", "failed or pending; default: both")
    .option("--type <type>", "only messages of this type")
    .option("--event <name>", "only this track event")
    .option("--user <id>", "only messages of this user");
  return withTimeRange(command)
    .option("--all", "all failed and pending deliveries")
    .option("--dry-run", "count the deliveries without changing them")
    .option("--no-follow", "return at once instead of waiting for the results");
}

type Selection = Pick<OperationInput, "filter" | "ids">;

/** The deliveries that the arguments and options choose. Throws if they choose none, because nothing given must not mean everything. */
export async function selectionOf(
  ids: readonly string[],
  options: BulkOptions,
  client: AdminClient,
): Promise<Selection> {
  const { destination, cause, state, type, event, user: userId, from, to } = options;
  const filter = definedFields({ cause, state, type, event, userId, from, to });
  const isFiltered = destination !== undefined || Object.keys(filter).length > 0;
  if (Number(ids.length > 0) + Number(isFiltered || options.all === true) !== 1)
    throw new CommandFailure(
      "usage",
      "Give either ids of deliveries, or options that choose them",
      "For every failed and pending delivery, add --all",
    );
  if (ids.length > 0) return { ids: [...ids] };
  if (destination === undefined) return { filter: filter as OperationFilter };
  const { id } = await findByName("destination", destination, (page) => client.destinations.list(page));
  return { filter: { ...filter, destinationId: id } as OperationFilter };
}

/** Starts an operation, follows it to its end and prints the result; with `--dry-run` only counts. */
export async function runBulk(
  kind: OperationKind,
  selection: Selection,
  options: BulkOptions,
  client: AdminClient,
  io: Io,
): Promise<void> {
  const { json } = options;
  if (options.dryRun) {
    const counted = await client.operations.count({ kind, ...selection });
    const words = plural(counted.total, "delivery", "deliveries");
    return show(io, json, counted, () => `${words} would be ${PAST[kind]}\n`);
  }
  const started = await client.operations.create({ kind, ...selection });
  const operation = options.follow ? await followOperation(client, started, io) : started;
  await show(io, json, operation, () => `${summaryText(operation)}${nextStep(operation, io)}`);
  const { failed } = operation.results;
  if (failed > 0) throw new Finding("partly", `${plural(failed, "delivery", "deliveries")} failed again`);
}

const PAST: Readonly<Record<OperationKind, string>> = {
  retry: "retried",
  replay: "sent again",
  discard: "discarded",
};

function nextStep({ id, state, results }: OperationView, io: Io): string {
  const say = (words: string, command: string): string =>
    `${io.style.dim(`${words}: ${asStarted("npx sluice", io)} ${terminalText(command)}`)}\n`;
  if (state === "selecting" || state === "running")
    return say("It goes on. See its progress", `operations show ${shellWord(id)} --follow`);
  return results.failed > 0 ? say("See what failed", "deliveries groups") : "";
}

export function showCommand(io: Io): Command {
  const command = connectedCommand("show", "show an operation's progress and results")
    .argument("<id>")
    .option("--follow", "wait for its end, with a progress line on a terminal")
    .action(async (id: string, options: CommandOptions & { readonly follow?: boolean }) => {
      const client = await connect(options, io);
      const now = await client.operations.get(id);
      const operation = options.follow ? await followOperation(client, now, io) : now;
      await show(io, options.json, operation, () => summaryText(operation));
    });
  return examples(command, [["", "sluice operations show op_4kZf --follow"]]);
}
