import type { AdminClient } from "@sluice/admin-client";
import type {
  DeliveryGroupPage,
  DeliveryStateView,
  DeliveryView,
  DestinationView,
} from "@sluice/control-api";
import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { namesOf } from "../../connection/destination-names.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import { asStarted } from "../../terminal/invocation.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type BulkOptions, runBulk, selectionOf, withSelection } from "../operations/bulk-deliveries.js";

export function deliveriesCommand(io: Io): Command {
  const group = newGroup("deliveries", "show deliveries and why they fail, retry or discard them")
    .addCommand(listCommand(io))
    .addCommand(groupsCommand(io))
    .addCommand(getCommand(io))
    .addCommand(retryCommand(io))
    .addCommand(discardCommand(io));
  subcommandExamples(group, {
    list: "sluice deliveries list --destination Warehouse --state failed",
    get: "sluice deliveries get dst_4kZf.1042",
    groups: "sluice deliveries groups",
    retry: "sluice deliveries retry --destination Warehouse --cause http_503",
    discard: "sluice deliveries discard --destination Warehouse --cause http_404 --dry-run",
  });
  return examples(group, [["Failed deliveries", "sluice deliveries list --state failed"]]);
}

interface ListOptions extends CommandOptions {
  readonly destination?: string;
  readonly state?: string;
  readonly error?: string;
  readonly cause?: string;
  readonly limit: string;
}

function listCommand(io: Io): Command {
  const command = connectedCommand(
    "list",
    "list deliveries, newest first; without --state, failed and pending ones",
  )
    .option("--destination <destination>", "only of this destination: id or name")
    .option("--state <state>", "delivered, pending, failed, filtered, skipped or suppressed")
    .option("--error <text>", "only if the reason contains this text")
    .option("--cause <cause>", "only with this cause, such as http_503; needs --destination");
  return withLimit(command).action(async (options: ListOptions) => {
    const limit = readLimit(options.limit);
    const client = await connect(options, io);
    const { destination, error, state, cause, json } = options;
    const page = await client.deliveries.list({
      limit,
      error,
      cause,
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

interface GroupsOptions extends CommandOptions {
  readonly destination?: string;
}

function groupsCommand(io: Io): Command {
  return connectedCommand("groups", "group failed and retried deliveries by destination and cause")
    .option("--destination <destination>", "only of this destination: id or name")
    .action(async (options: GroupsOptions) => {
      const client = await connect(options, io);
      const { destination, json } = options;
      const destinationId = destination && (await findDestination(client, destination)).id;
      const page = await client.deliveryGroups.list({ destinationId, limit: 500 });
      const ids = page.items.map((group) => group.destinationId);
      const nameOf = json ? (id: string) => id : await namesOf(client, ids);
      await show(io, json, page, () => groupsText(page, nameOf, io));
    });
}

function groupsText(
  { items, isExact }: DeliveryGroupPage,
  nameOf: (destinationId: string) => string,
  io: Io,
): string {
  if (items.length === 0) return "Nothing fails: there are no failed or retried deliveries\n";
  const rows = items.map((group) => [
    nameOf(group.destinationId),
    group.cause,
    group.failed,
    group.pending,
    group.firstSeenAt,
    group.lastSeenAt,
  ]);
  const head = ["DESTINATION", "CAUSE", "FAILED", "RETRIED", "FIRST SEEN", "LAST SEEN"];
  const advice = new Map(items.map(({ cause, title, advice: text }) => [cause, `${title}: ${text}`]));
  const minimum = isExact ? "" : "The counts are minimums: not all deliveries were counted.\n";
  const lines = [...advice.values()].map((text) => `${io.style.dim(terminalText(text))}\n`);
  return `${table(head, rows, io.style.bold)}${minimum}\n${lines.join("")}`;
}

function retryCommand(io: Io): Command {
  const command = connectedCommand("retry", "retry deliveries now, and show what comes of it").argument(
    "[ids...]",
    "ids of deliveries; one may be in any state",
  );
  return withSelection(command).action(async (ids: readonly string[], options: BulkOptions) => {
    const client = await connect(options, io);
    const selection = await selectionOf(ids, options, client);
    const [only, another] = ids;
    if (only !== undefined && another === undefined && !options.dryRun)
      return retryOne(only, options, client, io);
    await runBulk("retry", selection, options, client, io);
  });
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
    const why = result === "failed again" ? `: ${terminalText(delivery.reason)}` : "";
    const next = `${asStarted("See the result: npx sluice", io)} deliveries get ${shellWord(delivery.id)}`;
    return `${result} ${terminalText(delivery.id)}${why}\n${io.style.dim(terminalText(next))}\n`;
  });
}

interface DiscardOptions extends BulkOptions {
  readonly yes?: boolean;
}

function discardCommand(io: Io): Command {
  const command = connectedCommand(
    "discard",
    "give failed and pending deliveries up; their messages stay stored",
  ).argument("[ids...]", "ids of deliveries");
  return withSelection(command)
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
}

function findDestination(client: AdminClient, idOrName: string): Promise<DestinationView> {
  return findByName("destination", idOrName, (page) => client.destinations.list(page));
}

function deliveriesTable(
  deliveries: readonly DeliveryView[],
  nameOf: (destinationId: string) => string,
  io: Io,
): string {
  return table(
    ["ID", "DESTINATION", "MESSAGE", "EVENT", "USER", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "REASON"],
    deliveries.map(({ id, destinationId, messageId, state, attempts, nextAttemptAt, reason, ...message }) => [
      id,
      nameOf(destinationId),
      messageId,
      message.event ?? message.type ?? "",
      message.userId ?? message.anonymousId ?? "",
      state,
      attempts,
      nextAttemptAt ?? "",
      reason,
    ]),
    io.style.bold,
  );
}
