import type { FinalStateView } from "@sluice/protocol";
import { type Command, Option } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";

interface ReplayOptions extends ConnectionOptions {
  readonly destination: string;
  readonly message?: string;
  readonly type?: string;
  readonly event?: string;
  readonly user?: string;
  readonly state?: string;
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function replayCommand(io: Io): Command {
  const command = withConnection(
    newCommand("replay", "send messages to a destination again, under the same message ids"),
  )
    .requiredOption("--destination <destination>", "its id or name")
    .option("--message <id>", "only this message")
    .option("--type <kind>", "only messages of this kind")
    .option("--event <name>", "only this track event")
    .option("--user <id>", "only messages of this user")
    .addOption(
      new Option(
        "--state <state>",
        "only messages that ended so; pending ones are under way already",
      ).choices(["delivered", "failed", "filtered", "skipped", "suppressed"] satisfies FinalStateView[]),
    )
    .option("--from <time>", "received not before this time (ISO 8601)")
    .option("--to <time>", "received before this time (ISO 8601)")
    .option("--dry-run", "count them, send nothing")
    .action((options: ReplayOptions) => replay(options, io));
  return examples(command, [
    [
      "How many failed this morning?",
      "sluice replay --destination Webhooks --state failed --from 2026-11-21 --dry-run",
    ],
    ["Send them again", "sluice replay --destination Webhooks --state failed --from 2026-11-21"],
  ]);
}

async function replay(options: ReplayOptions, io: Io): Promise<void> {
  const client = await connect(options, io);
  const { id, enabled } = await findByName("destination", options.destination, (page) =>
    client.destinations.list(page),
  );
  const { message: messageId, user: userId, type, event, from, to } = options;
  const state = options.state as FinalStateView | undefined;
  const filter = Object.entries({
    destinationId: id,
    messageId,
    userId,
    type,
    event,
    state,
    from,
    to,
  }).filter(([, value]) => value !== undefined);
  const result = await client.replays.create({
    filter: { destinationId: id, ...Object.fromEntries(filter) },
    dryRun: options.dryRun === true,
  });
  await show(io, options.json, result, () => {
    const messages = plural(result.count, "message", "messages");
    if (options.dryRun) return `${messages} would be sent again\n`;
    const next = `See what is not through: npx sluice deliveries list --destination ${shellWord(options.destination)}`;
    const when = enabled ? "" : " once the destination is enabled";
    return `${messages} ${result.count === 1 ? "is" : "are"} sent again${when}\n${io.style.dim(terminalText(next))}\n`;
  });
}
