import type { DeliveryStateView } from "@sluice/protocol";
import type { Command } from "commander";
import { readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { namesOf } from "../../connection/destination-names.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

export function deliveriesCommand(io: Io): Command {
  const command = newGroup("deliveries", "see deliveries and their attempts, try one again");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));

  command.addCommand(
    sub("list", "deliveries, newest first; failed and pending ones where no state is asked for")
      .option("--destination <destination>", "only of this one: id or name")
      .option("--state <state>", "delivered, pending, failed, filtered, skipped or suppressed")
      .option("--error <text>", "only where the reason contains this")
      .option("-n, --limit <n>", "at most so many", "50")
      .action(
        async (
          options: Options & { destination?: string; state?: string; error?: string; limit: string },
        ) => {
          const limit = readInteger("--limit", options.limit, 1, 500);
          const client = await connect(options, io);
          const { destination, error } = options;
          const page = await client.deliveries.list({
            limit,
            error,
            state: options.state as DeliveryStateView | undefined,
            destinationId:
              destination === undefined
                ? undefined
                : (await findByName("destination", destination, (of) => client.destinations.list(of))).id,
          });
          const ids = page.items.map(({ destinationId }) => destinationId);
          const nameOf = options.json ? (id: string) => id : await namesOf(client, ids);
          await show(io, options.json, page, () =>
            table(
              ["ID", "DESTINATION", "MESSAGE", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "REASON"],
              page.items.map(({ id, destinationId, messageId, state, attempts, nextAttemptAt, reason }) => [
                id,
                nameOf(destinationId),
                messageId,
                state,
                attempts,
                nextAttemptAt ?? "",
                reason,
              ]),
              io.style.bold,
            ),
          );
        },
      ),
  );
  command.addCommand(
    sub("get", "one delivery with every attempt")
      .argument("<id>")
      .action(async (id: string, options: Options) => {
        const delivery = await (await connect(options, io)).deliveries.get(id);
        await show(io, options.json, delivery, () => `${terminalJson(delivery, 2)}\n`);
      }),
  );
  command.addCommand(
    sub("retry", "try a delivery now: a pending one without waiting for its time, a settled one anew")
      .argument("<id>")
      .action(async (id: string, options: Options) => {
        const client = await connect(options, io);
        const delivery = await client.deliveries.retry(id);
        await show(io, options.json, delivery, () => {
          const next = `See how it ends: npx sluice deliveries get ${shellWord(delivery.id)}`;
          return `queued ${terminalText(delivery.id)}\n${io.style.dim(terminalText(next))}\n`;
        });
      }),
  );
  exampleOfEach(command, {
    list: "sluice deliveries list --destination Warehouse --state failed",
    get: "sluice deliveries get dst_4kZf.1042",
    retry: "sluice deliveries retry dst_4kZf.1042",
  });
  return examples(command, [["What does not get through", "sluice deliveries list --state failed"]]);
}
