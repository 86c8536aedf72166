import type { AdminClient } from "@sluice/admin-client";
import { describeReason } from "@sluice/control-api";
import type { Command } from "commander";
import { connect, connectedCommand } from "../../connection/connection.js";
import { examples } from "../../definition.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { asStarted } from "../../terminal/io.js";
import { plural, shellWord } from "../../terminal/style.js";
import { show, terminalText } from "../../terminal/terminal-text.js";
import { type BulkOptions, runBulk, selectionOf, withSelection } from "../operations.js";

export function retryCommand(io: Io): Command {
  const command = connectedCommand("retry", "retry deliveries now, and show what comes of it").argument(
    "[ids...]",
    "ids of deliveries; one may be in any state",
  );
  withSelection(command).action(async (ids: readonly string[], options: BulkOptions) => {
    const client = await connect(options, io);
    const selection = await selectionOf(ids, options, client);
    const [only, another] = ids;
    if (only !== undefined && another === undefined && !options.dryRun)
      return retryOne(only, options, client, io);
    await runBulk("retry", selection, options, client, io);
  });
  return examples(command, [["", "sluice deliveries retry --destination Warehouse --cause http_503"]]);
}

/** The result is waited for: a receiver has 5 s to respond. */
const RESULT_WAIT_MS = 8_000;
const ASK_EVERY_MS = 250;

async function retryOne(
  id: string,
  { json, follow }: BulkOptions,
  client: AdminClient,
  io: Io,
): Promise<void> {
  const before = (await client.deliveries.get(id)).attempts.length;
  let delivery = await client.deliveries.retry(id);
  let result = "queued";
  const { enabled } = await client.destinations.get(delivery.destinationId);
  const untilMs = io.monotonic() + (follow && enabled ? RESULT_WAIT_MS : 0);
  while (result === "queued" && io.monotonic() < untilMs && !io.interrupted.aborted) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    const { attempts, ...now } = await client.deliveries.get(id);
    delivery = { ...now, attempts: attempts.length };
    if (attempts.length > before) result = now.state === "delivered" ? "delivered" : "failed again";
  }
  await show(io, json, delivery, () => {
    const why = result === "failed again" ? `: ${terminalText(describeReason(delivery.reason))}` : "";
    const next = `${asStarted("See the result: npx sluice", io)} deliveries get ${shellWord(delivery.id)}`;
    return `${result} ${terminalText(delivery.id)}${why}\n${io.style.dim(terminalText(next))}\n`;
  });
}

interface DiscardOptions extends BulkOptions {
  readonly yes?: boolean;
}

export function discardCommand(io: Io): Command {
  const command = connectedCommand(
    "discard",
    "give failed and pending deliveries up; their messages stay stored",
  ).argument("[ids...]", "ids of deliveries");
  withSelection(command)
    .option("--yes", "do not ask")
    .action(async (ids: readonly string[], options: DiscardOptions) => {
      const client = await connect(options, io);
      const selection = await selectionOf(ids, options, client);
      if (!options.dryRun) {
        const { total } = await client.operations.count({ kind: "discard", ...selection });
        const words = plural(total, "delivery", "deliveries");
        await confirmRemoval(
          {
            consequence: `This discards ${words}, which are then not sent any more`,
            question: `Discard ${words}?`,
            declined: "Nothing was discarded.",
            isYes: options.yes === true,
          },
          io,
        );
      }
      await runBulk("discard", selection, options, client, io);
    });
  return examples(command, [
    ["", "sluice deliveries discard --destination Warehouse --cause http_404 --dry-run"],
  ]);
}
