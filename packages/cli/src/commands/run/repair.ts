import { resolve } from "node:path";
import type { RepairReport } from "@sluice/collector";
import type { Command } from "commander";
import { DEV_DATA_DIR } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { plural, shellWord } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface RepairOptions {
  readonly dataDir?: string;
  readonly json?: boolean;
}

export function repairCommand(io: Io): Command {
  const command = newCommand(
    "repair",
    "check all files of a stopped collector, repair what can be repaired and list what is lost",
  )
    .option(
      "--data-dir <folder>",
      `the data folder of the collector (SLUICE_DATA_DIR; default: ${DEV_DATA_DIR})`,
    )
    .action((options: RepairOptions) => repair(options, io));
  return examples(command, [
    ["If the collector does not start because a file is damaged", "sluice repair --data-dir /var/lib/sluice"],
  ]);
}

async function repair(options: RepairOptions, io: Io): Promise<void> {
  const directory = resolve(io.cwd, options.dataDir ?? io.env.SLUICE_DATA_DIR ?? DEV_DATA_DIR);
  const { repairStore } = await import("@sluice/collector");
  const report = await repairStore({ directory }).catch((error: unknown) => {
    const { code, message } = error as { code?: string; message: string };
    if (code === "not_found") throw new CommandFailure("notFound", message);
    throw error;
  });
  await io.out(options.json ? `${terminalJson({ directory, ...report })}\n` : reportText(report, directory));
  failIfLost(report);
}

function reportText(report: RepairReport, directory: string): string {
  const { rows, messages, damaged, lost = [], rebuilt = [], setAside = [] } = report;
  const lines = [
    `read ${plural(rows, "log row", "log rows")} (${plural(messages, "message", "messages")}) in ${terminalText(directory)}`,
    ...damaged.map(({ first, end, messages: lostHere, isKept }) => {
      const unreadable = isKept ? "" : `, and nothing of ${lostHere === 1 ? "it" : "them"} can be read`;
      return `offsets ${first} to ${end - 1}: ${plural(lostHere, "message", "messages")} lost${unreadable}`;
    }),
    ...lost.map((item) => `lost: ${terminalText(item)}`),
    ...rebuilt.map((item) => `rebuilt: ${terminalText(item)}`),
    ...setAside.map((file) => `the damaged file is kept as ${terminalText(file)}`),
    ...keptLines(report),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Where the damaged bytes are kept, or that nothing is damaged. */
function keptLines({ damaged, keptIn, lost = [], rebuilt = [], setAside = [] }: RepairReport): string[] {
  if (keptIn === undefined)
    return lost.length + rebuilt.length + setAside.length === 0 ? ["nothing is damaged"] : [];
  if (!damaged.some(({ isKept }) => isKept)) return [];
  return [
    `their bytes, and the ids of lost messages that are still readable, are in ${terminalText(keptIn)}`,
  ];
}

const CHECK_HARDWARE = "Check the disk and the memory: they returned other data than was written.";
const NOTHING_KEPT = "These messages cannot be read: restore a backup if you need them.";

function failIfLost({ damaged, keptIn, lost = [] }: RepairReport): void {
  if (damaged.length > 0) {
    const messages = damaged.reduce((sum, stretch) => sum + stretch.messages, 0);
    const isKept = damaged.some((stretch) => stretch.isKept);
    throw new CommandFailure(
      "partly",
      `${plural(messages, "message was", "messages were")} lost in ${plural(damaged.length, "damaged place", "damaged places")}`,
      `${CHECK_HARDWARE} ${keptIn !== undefined && isKept ? sendAgain(keptIn) : NOTHING_KEPT}`,
    );
  }
  if (lost.length > 0)
    throw new CommandFailure(
      "partly",
      `No message was lost, but ${plural(lost.length, "other item was", "other items were")}`,
      `${CHECK_HARDWARE} Then recreate the items that are listed above.`,
    );
}

/** The collector would drop messages with known ids as duplicates, so recovered messages get new ids. */
function sendAgain(keptIn: string): string {
  const messages = `jq -r '.text // empty' ${shellWord(keptIn)} | jq -c '(.batch? // [.])[] | del(.messageId)' > again.jsonl`;
  return `To recover what is readable: ${messages}; check the file for damaged values, then run: npx sluice import again.jsonl`;
}
