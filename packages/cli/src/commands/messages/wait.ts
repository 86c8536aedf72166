import { AdminError } from "@sluice/admin-client";
import type { DeliveryStateView, MessageView } from "@sluice/control-api";
import type { Command } from "commander";
import { readDuration } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { findByName, namesOf } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/terminal-text.js";
import { destinationsOf, messageSummary } from "./message-text.js";

interface WaitOptions extends CommandOptions {
  readonly state: string;
  readonly destination?: string;
  readonly any?: boolean;
  readonly timeout: string;
}

export function waitCommand(io: Io): Command {
  const command = connectedCommand(
    "wait",
    "wait until a message has a state at all its destinations (for tests); destinations that filtered, skipped or suppressed it do not count",
  )
    .argument("<messageId>")
    .option(
      "--state <state>",
      "accepted, rejected, delivered, pending, failed, filtered, skipped or suppressed",
      "delivered",
    )
    .option("--destination <destination>", "wait for this destination only: id or name")
    .option("--any", "wait for one destination only")
    .option("--timeout <duration>", "how long to wait", "30s")
    .action((messageId: string, options: WaitOptions) => wait(messageId, options, io));
  return examples(command, [["", "sluice messages wait m-42 --timeout 5s"]]);
}

async function wait(messageId: string, options: WaitOptions, io: Io): Promise<void> {
  const timeoutMs = readDuration("--timeout", options.timeout);
  const client = await connect(options, io);
  const { destination, json } = options;
  const destinationId =
    destination === undefined
      ? undefined
      : (await findByName("destination", destination, (page) => client.destinations.list(page))).id;
  try {
    const message = await client.messages.wait({
      messageId,
      state: options.state as DeliveryStateView,
      destinationId,
      destinations: options.any ? "any" : "all",
      timeoutMs,
    });
    const names = json ? (id: string) => id : await namesOf(client, destinationsOf(message));
    await show(io, json, message, () => messageSummary(message, names, io));
  } catch (error) {
    const latest = json ? undefined : latestState(error);
    if (latest === undefined || !(error instanceof AdminError)) throw error;
    const names = await namesOf(client, destinationsOf(latest));
    io.err(messageSummary(latest, names, io));
    // The collector's message has ids of destinations; people know their names.
    const message = destinationsOf(latest).reduce(
      (text, id) => text.replaceAll(id, names(id)),
      error.message,
    );
    throw new AdminError(error.status, { ...error.details, message });
  }
}

const WAIT_CODES: readonly string[] = ["wait_timed_out", "wait_impossible"];

/** The message's state when the wait ended. Undefined if it does not exist, or for other errors. */
function latestState(error: unknown): MessageView | undefined {
  if (!(error instanceof AdminError) || !WAIT_CODES.includes(error.code)) return undefined;
  return (error.details.now ?? undefined) as MessageView | undefined;
}
