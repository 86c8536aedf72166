import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import { applyCommand } from "./commands/apply/apply.js";
import { completionCommand } from "./commands/completion.js";
import { audiencesCommand } from "./commands/definitions/audiences.js";
import { traitsCommand } from "./commands/definitions/traits.js";
import { doctorCommand } from "./commands/doctor/doctor.js";
import { importCommand } from "./commands/import/import.js";
import { listenCommand } from "./commands/listen/listen.js";
import { deliveriesCommand } from "./commands/messages/deliveries.js";
import { exportCommand } from "./commands/messages/export.js";
import { messagesCommand } from "./commands/messages/messages.js";
import { replayCommand } from "./commands/messages/replay.js";
import { sendCommand } from "./commands/messages/send.js";
import { tailCommand } from "./commands/messages/tail.js";
import { auditCommand } from "./commands/resources/audit.js";
import { destinationsCommand } from "./commands/resources/destinations.js";
import { sourcesCommand } from "./commands/resources/sources.js";
import { tokensCommand } from "./commands/resources/tokens.js";
import { collectorCommand } from "./commands/run/collector.js";
import { devCommand } from "./commands/run/dev.js";
import { repairCommand } from "./commands/run/repair.js";
import { resetCommand } from "./commands/run/reset.js";
import { deletionsCommand } from "./commands/users/deletions.js";
import { profilesCommand } from "./commands/users/profiles.js";
import type { CommandMaker } from "./definition/command.js";
import { EXIT_CODES } from "./failures/exit-codes.js";
import type { Io } from "./terminal/io.js";

/** Every command, in the order of `sluice --help`. */
export const COMMANDS: readonly CommandMaker[] = [
  devCommand,
  collectorCommand,
  sendCommand,
  importCommand,
  exportCommand,
  tailCommand,
  listenCommand,
  messagesCommand,
  deliveriesCommand,
  replayCommand,
  sourcesCommand,
  destinationsCommand,
  audiencesCommand,
  traitsCommand,
  profilesCommand,
  deletionsCommand,
  tokensCommand,
  auditCommand,
  applyCommand,
  resetCommand,
  doctorCommand,
  repairCommand,
  completionCommand,
];

/** The whole command line. The collector and other large modules are only loaded when a command needs them. */
export function program(io: Io): Command {
  const root = new Command("sluice")
    .description("Collect events, store them durably and deliver them as signed webhooks.")
    .version(manifest.version, "-V, --version", "print the version")
    .showHelpAfterError("Run `npx sluice --help` to see the commands.")
    .addHelpText(
      "after",
      `\nExit codes:\n${Object.values(EXIT_CODES)
        .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
        .join(
          "\n",
        )}\n\nSet NO_COLOR to switch colours off. Data from events is escaped before it is printed.\n`,
    );
  for (const make of COMMANDS) root.addCommand(make(io));
  prepare(root, io);
  return root;
}

/** Makes Commander write to `io`, and throw instead of ending the process. */
function prepare(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void io.out(text),
    writeErr: (text) => io.err(text),
    getOutHelpWidth: () => io.columns,
    getErrHelpWidth: () => io.columns,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const inner of command.commands) prepare(inner, io);
}
