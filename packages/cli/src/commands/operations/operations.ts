import type { OperationView } from "@sluice/control-api";
import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { followOperation } from "./follow-operation.js";
import { resultText, summaryText } from "./operation-text.js";

export function operationsCommand(io: Io): Command {
  const group = newGroup("operations", "show bulk retries, replays and discards, cancel one")
    .addCommand(listCommand(io))
    .addCommand(showCommand(io))
    .addCommand(cancelCommand(io));
  subcommandExamples(group, {
    list: "sluice operations list",
    show: "sluice operations show op_4kZf --follow",
    cancel: "sluice operations cancel op_4kZf",
  });
  return examples(group, [["What bulk retries came to", "sluice operations list"]]);
}

interface ListOptions extends CommandOptions {
  readonly limit: string;
}

function listCommand(io: Io): Command {
  return withLimit(connectedCommand("list", "list operations, newest first")).action(
    async (options: ListOptions) => {
      const limit = readLimit(options.limit);
      const page = await (await connect(options, io)).operations.list({ limit });
      await show(io, options.json, page, () => operationsTable(page.items, io));
    },
  );
}

interface ShowOptions extends CommandOptions {
  readonly follow?: boolean;
}

function showCommand(io: Io): Command {
  return connectedCommand("show", "show an operation's progress and results")
    .argument("<id>")
    .option("--follow", "wait for its end, with a progress line on a terminal")
    .action(async (id: string, options: ShowOptions) => {
      const client = await connect(options, io);
      const now = await client.operations.get(id);
      const operation = options.follow ? await followOperation(client, now, io) : now;
      await show(io, options.json, operation, () => summaryText(operation));
    });
}

function cancelCommand(io: Io): Command {
  return connectedCommand("cancel", "stop an operation; deliveries that it has started go on")
    .argument("<id>")
    .action(async (id: string, options: CommandOptions) => {
      const operation = await (await connect(options, io)).operations.cancel(id);
      await show(io, options.json, operation, () => summaryText(operation));
    });
}

function operationsTable(operations: readonly OperationView[], io: Io): string {
  return table(
    ["ID", "KIND", "STATE", "DONE", "RATE", "STARTED", "BY", "RESULT"],
    operations.map((operation) => [
      operation.id,
      operation.kind,
      operation.state,
      `${operation.done}/${operation.total}`,
      `${Math.round(operation.ratePerSecond)}/s`,
      operation.startedAt ?? operation.createdAt,
      operation.createdBy.tokenName,
      resultText(operation),
    ]),
    io.style.bold,
  );
}
