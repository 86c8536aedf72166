import type { DeliveryStateView, DeliveryView } from "@sluice/control-api";
import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { namesOf } from "../../connection/destination-names.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

export function deliveriesCommand(io: Io): Command {
  const group = newGroup("deliveries", "show deliveries and their attempts, retry one")
    .addCommand(listCommand(io))
    .addCommand(getCommand(io))
    .addCommand(retryCommand(io));
  subcommandExamples(group, {
    list: "sluice deliveries list --destination Warehouse --state failed",
    get: "sluice deliveries get dst_4kZf.1042",
    retry: "sluice deliveries retry dst_4kZf.1042",
  });
  return examples(group, [["Failed deliveries", "sluice deliveries list --state failed"]]);
}

interface ListOptions extends CommandOptions {
  readonly destination?: string;
  readonly state?: string;
  readonly error?: string;
  readonly limit: string;
}

function listCommand(io: Io): Command {
  const command = connectedCommand(
    "list",
    "list deliveries, newest first; without --state, failed and pending ones",
  )
    .option("--destination <destination>", "only of this destination: id or name")
    .option("--state <state>", "delivered, pending, failed, filtered, skipped or suppressed")
    .option("--error <text>", "only if the reason contains this text");
  return withLimit(command).action(async (options: ListOptions) => {
    const limit = readLimit(options.limit);
    const client = await connect(options, io);
    const { destination, error, state, json } = options;
    const page = await client.deliveries.list({
      limit,
      error,
      state: state as DeliveryStateView | undefined,
      destinationId:
        destination === undefined
          ? undefined
          : (await findByName("destination", destination, (of) => client.destinations.list(of))).id,
    });
    const ids = page.items.map(({ destinationId }) => destinationId);
    const nameOf = json ? (id: string) => id : await namesOf(client, ids);
    await show(io, json, page, () => deliveriesTable(page.items, nameOf, io));
  });
}

function getCommand(io: Io): Command {
  return connectedCommand("get", "show a delivery with all its attempts")
    .argument("<id>")
    .action(async (id: string, options: CommandOptions) => {
      const delivery = await (await connect(options, io)).deliveries.get(id);
      await show(io, options.json, delivery, () => `${terminalJson(delivery, 2)}\n`);
    });
}

function retryCommand(io: Io): Command {
  return connectedCommand("retry", "retry a delivery now, whether it is pending or has ended")
    .argument("<id>")
    .action(async (id: string, options: CommandOptions) => {
      const client = await connect(options, io);
      const delivery = await client.deliveries.retry(id);
      await show(io, options.json, delivery, () => {
        const next = `See the result: npx sluice deliveries get ${shellWord(delivery.id)}`;
        return `queued ${terminalText(delivery.id)}\n${io.style.dim(terminalText(next))}\n`;
      });
    });
}

function deliveriesTable(
  deliveries: readonly DeliveryView[],
  nameOf: (destinationId: string) => string,
  io: Io,
): string {
  return table(
    ["ID", "DESTINATION", "MESSAGE", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "REASON"],
    deliveries.map(({ id, destinationId, messageId, state, attempts, nextAttemptAt, reason }) => [
      id,
      nameOf(destinationId),
      messageId,
      state,
      attempts,
      nextAttemptAt ?? "",
      reason,
    ]),
    io.style.bold,
  );
}
