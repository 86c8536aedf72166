import type { Command } from "commander";
import { readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip, terminalJson } from "../../terminal/terminal-text.js";

export function auditCommand(io: Io): Command {
  const command = withConnection(newCommand("audit", "who changed what and when, newest first"))
    .option("-n, --limit <n>", "at most so many", "50")
    .action(async (options: ConnectionOptions & { limit: string; json?: boolean }) => {
      const limit = readInteger("--limit", options.limit, 1, 500);
      const page = await (await connect(options, io)).audit.list({ limit });
      await show(io, options.json, page, () =>
        table(
          ["AT", "TOKEN", "ACTION", "TARGET", "CHANGE"],
          page.items.map(({ at, tokenName, action, target, change }) => [
            at,
            tokenName,
            action,
            target ?? "",
            change === undefined ? "" : clip(terminalJson(change), 60),
          ]),
          io.style.bold,
        ),
      );
    });
  return examples(command, [["The last ten changes", "sluice audit -n 10"]]);
}
