import { resolve } from "node:path";
import type { Command } from "commander";
import { DEV_DATA_DIR } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface RepairOptions {
  readonly dataDir?: string;
  readonly json?: boolean;
}

export function repairCommand(io: Io): Command {
  const command = newCommand(
    "repair",
    "check every file of a stopped collector, repair what can be repaired, and name what is lost",
  )
    .option(
      "--data-dir <folder>",
      `the folder in which everything is kept (SLUICE_DATA_DIR; default: ${DEV_DATA_DIR})`,
    )
    .action((options: RepairOptions) => repair(options, io));
  return examples(command, [
    ["After a start that failed because a file is damaged", "sluice repair --data-dir /var/lib/sluice"],
  ]);
}

async function repair(options: RepairOptions, io: Io): Promise<void> {
  const { repairStore } = await import("@sluice/collector");
  const directory = resolve(io.cwd, options.dataDir ?? io.env.SLUICE_DATA_DIR ?? DEV_DATA_DIR);
  const report = await repairStore({ directory }).catch((error: unknown) => {
    const { code, message } = error as { code?: string; message: string };
    if (code === "not_found") throw new CommandFailure("notFound", message);
    throw error;
  });
  const { rows, messages: read, mended, damaged, keptIn, lost = [], rebuilt = [], setAside = [] } = report;
  const messages = damaged.reduce((sum, stretch) => sum + stretch.messages, 0);
  const isKept = damaged.some((stretch) => stretch.isKept);
  if (options.json) await io.out(`${terminalJson({ directory, ...report })}\n`);
  else {
    await io.out(
      `read ${plural(rows, "log row", "log rows")} (${plural(read, "message", "messages")}) of ${terminalText(directory)}\n`,
    );
    for (const { first, end } of mended) {
      await io.out(`offsets ${first} to ${end - 1}: one bit was wrong and is right again, nothing is lost\n`);
    }
    for (const { first, end, messages: lost, isKept } of damaged) {
      const what = `${plural(lost, "message", "messages")} lost`;
      const nothing = isKept ? "" : `, and nothing of ${lost === 1 ? "it" : "them"} can be read`;
      await io.out(`offsets ${first} to ${end - 1}: ${what}${nothing}\n`);
    }
    for (const what of lost) await io.out(`lost: ${terminalText(what)}\n`);
    for (const what of rebuilt) await io.out(`rebuilt: ${terminalText(what)}\n`);
    for (const file of setAside) await io.out(`the damaged file is kept as ${terminalText(file)}\n`);
    if (keptIn === undefined) {
      if (lost.length + rebuilt.length + setAside.length === 0) await io.out("nothing is damaged\n");
    } else if (damaged.length === 0) await io.out(`the bytes as they were are in ${terminalText(keptIn)}\n`);
    else if (isKept)
      await io.out(
        `their bytes, and the ids of the lost messages that can still be read, are in ${terminalText(keptIn)}\n`,
      );
  }
  if (damaged.length === 0 && lost.length > 0) {
    throw new CommandFailure(
      "partly",
      `no message was lost, but ${plural(lost.length, "other thing", "other things")}`,
      `${CHECK_HARDWARE} Then create or set again what is named above.`,
    );
  }
  if (damaged.length > 0) {
    throw new CommandFailure(
      "partly",
      `${plural(messages, "message was", "messages were")} lost to ${plural(damaged.length, "damaged place", "damaged places")}`,
      `${CHECK_HARDWARE} ${keptIn !== undefined && isKept ? sendAgain(keptIn) : NOTHING_KEPT}`,
    );
  }
}

const CHECK_HARDWARE = "Check the disk and the memory: what they hold is not what was written.";
const NOTHING_KEPT = "Nothing can be read of these messages: restore a backup if you need them.";

/** The old ids are known to dedupe, so messages of the kept requests go under new ones. */
function sendAgain(keptIn: string): string {
  const messages = `jq -r '.text // empty' ${shellWord(keptIn)} | jq -c '(.batch? // [.])[] | del(.messageId)' > again.jsonl`;
  return `What can be read of the requests: ${messages}; check the file for damaged values, and then: npx sluice import again.jsonl`;
}
