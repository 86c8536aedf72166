import type { FinalStateView, ReplayInput } from "@sluice/control-api";
import { type Command, Option } from "commander";
import { definedFields, withTimeRange } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { asStarted } from "../../terminal/io.js";
import { plural, shellWord } from "../../terminal/style.js";
import { show, terminalText } from "../../terminal/terminal-text.js";
import { followOperation, summaryText } from "../operations.js";

interface ReplayOptions extends CommandOptions {
  readonly destination: string;
  readonly message?: string;
  readonly type?: string;
  readonly event?: string;
  readonly user?: string;
  readonly state?: FinalStateView;
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly follow?: boolean;
}

export function replayCommand(io: Io): Command {
  const command = connectedCommand(
    "replay",
    "send stored messages to a destination again, with the same message ids",
  )
    .requiredOption("--destination <destination>", "its id or name")
    .option("--message <id>", "only this message")
    .option("--type <type>", "only messages of this type")
    .option("--event <name>", "only this track event")
    .option("--user <id>", "only messages of this user")
    .addOption(
      new Option(
        "--state <state>",
        "only messages with this outcome (pending ones are already queued)",
      ).choices([
        "delivered",
        "failed",
        "filtered",
        "skipped",
        "suppressed",
        "discarded",
      ] satisfies FinalStateView[]),
    );
  withTimeRange(command)
    .option("--dry-run", "count the messages without sending them")
    .option("--follow", "wait for the results, with a progress line on a terminal")
    .action((options: ReplayOptions) => replay(options, io));
  return examples(command, [
    [
      "How many failed today",
      "sluice replay --destination Webhooks --state failed --from $(date -I) --dry-run",
    ],
    ["Send them again", "sluice replay --destination Webhooks --state failed --from $(date -I)"],
  ]);
}

async function replay(options: ReplayOptions, io: Io): Promise<void> {
  const {
    destination,
    message: messageId,
    user: userId,
    type,
    event,
    state,
    from,
    to,
    dryRun,
    follow,
    json,
  } = options;
  const client = await connect(options, io);
  const { id, enabled } = await findByName("destination", destination, (page) =>
    client.destinations.list(page),
  );
  const result = await client.replays.create({
    filter: {
      destinationId: id,
      ...definedFields({
        messageId,
        userId,
        type: type as ReplayInput["filter"]["type"],
        event,
        state,
        from,
        to,
      }),
    },
    dryRun: dryRun === true,
  });
  const { id: operationId } = result;
  if (follow === true && operationId !== undefined) {
    const operation = await followOperation(client, await client.operations.get(operationId), io);
    return show(io, json, operation, () => summaryText(operation));
  }
  await show(io, json, result, () => {
    const messages = plural(result.count, "message", "messages");
    if (dryRun) return `${messages} would be sent again\n`;
    const next = `${asStarted("See what is still failing: npx sluice", io)} deliveries list --destination ${shellWord(destination)}`;
    const progress =
      operationId === undefined
        ? ""
        : `${asStarted("See its progress: npx sluice", io)} operations show ${shellWord(operationId)} --follow`;
    const when = enabled ? "" : " when the destination is enabled";
    return `${messages} will be sent again${when}\n${io.style.dim(terminalText(progress))}\n${io.style.dim(terminalText(next))}\n`;
  });
}
