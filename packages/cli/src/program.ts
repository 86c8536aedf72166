import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import type { CommandMaker } from "./command.js";
import { applyCommand } from "./commands/apply.js";
import { audiencesCommand } from "./commands/audiences.js";
import { auditCommand } from "./commands/audit.js";
import { collectorCommand } from "./commands/collector.js";
import { completionCommand } from "./commands/completion.js";
import { deletionsCommand } from "./commands/deletions.js";
import { deliveriesCommand } from "./commands/deliveries.js";
import { destinationsCommand } from "./commands/destinations.js";
import { devCommand } from "./commands/dev.js";
import { doctorCommand } from "./commands/doctor.js";
import { exportCommand } from "./commands/export.js";
import { importCommand } from "./commands/import.js";
import { listenCommand } from "./commands/listen.js";
import { messagesCommand } from "./commands/messages.js";
import { profilesCommand } from "./commands/profiles.js";
import { repairCommand } from "./commands/repair.js";
import { replayCommand } from "./commands/replay.js";
import { resetCommand } from "./commands/reset.js";
import { sendCommand } from "./commands/send.js";
import { sourcesCommand } from "./commands/sources.js";
import { tailCommand } from "./commands/tail.js";
import { tokensCommand } from "./commands/tokens.js";
import { traitsCommand } from "./commands/traits.js";
import { EXIT_CODES } from "./exit-codes.js";
import type { Io } from "./io.js";

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

/** The whole command line. Nothing heavy is loaded until a command runs. */
export function program(io: Io): Command {
  const root = new Command("sluice")
    .description("Collect events, keep every one, deliver them as signed webhooks.")
    .version(manifest.version, "-V, --version", "print the version")
    .showHelpAfterError("Run `npx sluice --help` to see the commands.")
    .addHelpText(
      "after",
      `\nExit codes:\n${Object.values(EXIT_CODES)
        .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
        .join("\n")}\n\nNO_COLOR is obeyed; data from events is escaped for terminals.\n`,
    );
  for (const make of COMMANDS) root.addCommand(make(io));
  prepare(root, io);
  return root;
}

/** Commander writes to `io` and throws instead of ending the process. */
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
