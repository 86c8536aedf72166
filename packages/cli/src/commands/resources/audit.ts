import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip, terminalJson } from "../../terminal/terminal-text.js";

/** Characters of a change that the table shows. */
const CHANGE_WIDTH = 60;

export function auditCommand(io: Io): Command {
  const command = withLimit(
    connectedCommand("audit", "list configuration changes: when, by which token and what, newest first"),
  ).action(async (options: CommandOptions & { readonly limit: string }) => {
    const limit = readLimit(options.limit);
    const page = await (await connect(options, io)).audit.list({ limit });
    await show(io, options.json, page, () =>
      table(
        ["AT", "TOKEN", "ACTION", "TARGET", "CHANGE"],
        page.items.map(({ at, tokenName, action, target, targetName, change }) => [
          at,
          tokenName,
          action,
          [targetName, target].filter((part) => part !== undefined).join("  "),
          change === undefined ? "" : clip(terminalJson(change), CHANGE_WIDTH),
        ]),
        io.style.bold,
      ),
    );
  });
  return examples(command, [["The last ten changes", "sluice audit -n 10"]]);
}
