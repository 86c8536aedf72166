import type { DestinationPatch, DestinationView } from "@sluice/control-api";
import { isPlainObject } from "@sluice/protocol";
import type { Command } from "commander";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import { rowsText } from "../../endpoints/answer-text.js";
import { CommandFailure, Finding } from "../../failures.js";
import { confirm } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { show, terminalText } from "../../terminal/terminal-text.js";
import { withHealth } from "./extras.js";

interface EnableOptions extends CommandOptions {
  readonly yes?: boolean;
  readonly sendBacklog?: boolean;
  readonly skipBacklog?: boolean;
}

/** More waiting messages than this are only sent if somebody says so. */
const MANY = 1_000;

export function enableCommand(io: Io): Command {
  const command = connectedCommand(
    "enable",
    "enable a destination and its URLs that responded with 410; what waits for it is sent",
  )
    .argument("<destination>", "its id or name")
    .option("--skip-backlog", "skip the messages that wait instead of sending them")
    .option("--send-backlog", "send the messages that wait; needed without a terminal if more than 1,000 do")
    .option("--yes", "the same as --send-backlog")
    .action((wanted: string, options: EnableOptions) => enable(wanted, options, io));
  return examples(command, [["", "sluice destinations enable Warehouse"]]);
}

async function enable(wanted: string, options: EnableOptions, io: Io): Promise<void> {
  const client = await connect(options, io);
  const item = await findByName("destination", wanted, (page) => client.destinations.list(page));
  const { waiting } = await client.destinations.status(item.id);
  const skips = options.skipBacklog === true && !item.enabled;
  if (!item.enabled && !skips && waiting > 0) await agreeToSend(item, waiting, options, io);
  const changed = await client.destinations.patch(item.id, {
    enabled: true,
    ...(skips ? { backlog: "skip" as const } : {}),
    ...enabledUrls(item),
  });
  if (skips) io.err(`${plural(waiting, "message", "messages")} will be skipped\n`);
  const [shown] = await withHealth(client, [changed]);
  await show(io, options.json, shown, () => rowsText("name health type id", [shown], io));
}

/** Asks on a terminal whether what waits may be sent. Elsewhere, many messages need an option. */
async function agreeToSend(
  { name }: DestinationView,
  waiting: number,
  { yes, sendBacklog }: EnableOptions,
  io: Io,
): Promise<void> {
  const messages = plural(waiting, "message", "messages");
  const isAgreed = yes === true || sendBacklog === true;
  if (!isAgreed && !io.canAsk && waiting > MANY)
    throw new CommandFailure(
      "usage",
      terminalText(
        `${messages} wait for ${name}: add --send-backlog to send them, or --skip-backlog to skip them`,
      ),
    );
  if (isAgreed || !io.canAsk) {
    io.err(`${terminalText(`${messages} that waited for ${name} will be sent now`)}\n`);
    return;
  }
  const question = `${messages} waited for ${name} and will be sent now (--skip-backlog skips them). Enable it?`;
  if (!(await confirm(terminalText(question), io))) throw new Finding("failed", "Nothing was changed.");
}

/** Saving the URLs again enables the disabled ones. The values of headers, which are not shown, are kept. */
function enabledUrls({ settings: { webhooks }, version }: DestinationView): DestinationPatch {
  const isDisabled =
    Array.isArray(webhooks) && webhooks.some((one) => isPlainObject(one) && "disabled" in one);
  return isDisabled ? { settings: { webhooks }, version } : {};
}
