import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type AdminClient, allPages } from "@sluice/admin-client";
import { formatTime, type MessageSummary, parseTime, resolveTime, validate } from "@sluice/protocol";
import type { Command } from "commander";
import { FILTER_HELP, readFilterArgument } from "../../arguments/filter-argument.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface ExportOptions extends ConnectionOptions {
  readonly out?: string;
  readonly from?: string;
  readonly to?: string;
  readonly outcomes?: boolean;
  readonly json?: boolean;
}

export function exportCommand(io: Io): Command {
  const command = withConnection(newCommand("export", "write stored messages as JSON lines, newest first"))
    .argument("[filter...]", "only messages that match")
    .option("-o, --out <file>", "the file to write; .gz compresses (default: stdout)")
    .option("--from <time>", "received not before this time (ISO 8601)")
    .option("--to <time>", "received before this time (ISO 8601)")
    .option(
      "--outcomes",
      "each line {messageId, sourceId, receivedAt, message, outcomes} instead of the message alone; also messages without contents",
    )
    .addHelpText("after", FILTER_HELP)
    .action((filter: string[], options: ExportOptions) => exportMessages(filter, options, io));
  return examples(command, [
    [
      "Everything of November, to be imported elsewhere",
      "sluice export --from 2026-11-01 --to 2026-12-01 -o november.jsonl.gz",
    ],
    ["Failed ones with their reasons", "sluice export outcome:failed --outcomes"],
  ]);
}

async function exportMessages(filter: string[], options: ExportOptions, io: Io): Promise<void> {
  const q = readFilterArgument(filter);
  const client = await connect(options, io);
  let count = 0;
  let leftOut = 0;
  async function* lines(): AsyncGenerator<string> {
    for await (const message of messages(client, { q, from: options.from, to: options.to })) {
      if (io.interrupted.aborted) return;
      if (!options.outcomes && isWithoutContents(message)) {
        leftOut += 1;
        continue;
      }
      count += 1;
      yield `${terminalJson(options.outcomes ? message : importable(message))}\n`;
    }
  }
  if (options.out === undefined) {
    for await (const line of lines()) await io.out(line);
    sayLeftOut(leftOut, io);
    return;
  }
  const file = createWriteStream(resolve(io.cwd, options.out), { mode: 0o600 });
  await once(file, "open");
  const source = Readable.from(lines());
  if (options.out.endsWith(".gz")) await pipeline(source, createGzip(), file);
  else await pipeline(source, file);
  if (options.json) await io.out(`${terminalJson({ exported: count, leftOut })}\n`);
  else {
    io.err(`${plural(count, "message", "messages")} written to ${terminalText(options.out)}\n`);
    sayLeftOut(leftOut, io);
  }
}

function sayLeftOut(count: number, io: Io): void {
  if (count === 0) return;
  const why =
    count === 1
      ? "it has no contents, its user is suppressed or deleted"
      : "they have no contents, their users are suppressed or deleted";
  io.err(`${plural(count, "message", "messages")} left out: ${why}\n`);
}

/** What is kept of a message whose user is suppressed. */
const STUB_FIELDS = new Set(["type", "messageId", "userId", "anonymousId"]);

/** A bare `identify` or `page` may have been sent so: only its outcomes tell that its user was suppressed. */
function isWithoutContents({ message, outcomes }: MessageSummary): boolean {
  return (
    Object.keys(message).every((field) => STUB_FIELDS.has(field)) &&
    (outcomes.some(({ state }) => state === "suppressed") || validate(message).length > 0)
  );
}

function messages(
  client: AdminClient,
  search: {
    readonly q: string | undefined;
    readonly from: string | undefined;
    readonly to: string | undefined;
  },
): AsyncGenerator<MessageSummary> {
  return allPages((cursor) => client.messages.list({ ...search, limit: 500, cursor }));
}

/** The message with its id and the time it happened, so that an import elsewhere keeps both. */
function importable({ messageId, receivedAt, message }: MessageSummary): object {
  const timestamp = formatTime(resolveTime(message, parseTime(receivedAt) ?? 0));
  return { ...message, messageId, timestamp };
}
