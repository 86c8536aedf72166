import type { AdminClient } from "@sluice/admin-client";
import type { OperationFilter, OperationInput, OperationKind, OperationView } from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { withTimeRange } from "../../arguments/time-range.js";
import type { CommandOptions } from "../../connection/connected-command.js";
import { findByName } from "../../connection/find-by-name.js";
import { CommandFailure, Finding } from "../../failures/exit-codes.js";
import { asStarted } from "../../terminal/invocation.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { followOperation } from "./follow-operation.js";
import { summaryText } from "./operation-text.js";

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
