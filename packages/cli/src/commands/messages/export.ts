import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type AdminClient, allPages } from "@sluice/admin-client";
import type { MessageSummary } from "@sluice/control-api";
import { formatTime, parseTime, resolveTime, validate } from "@sluice/protocol";
import type { Command } from "commander";
import { FILTER_HELP, readFilterArgument, withTimeRange } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { examples } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface ExportOptions extends CommandOptions {
  readonly out?: string;
  readonly from?: string;
  readonly to?: string;
  readonly outcomes?: boolean;
}

export function exportCommand(io: Io): Command {
  const command = connectedCommand("export", "write stored messages as JSON lines, newest first")
    .argument("[filter...]", "export only messages that match")
    .option("-o, --out <file>", "the file to write (default: stdout); .gz compresses it");
  withTimeRange(command)
    .option(
      "--outcomes",
      "write {messageId, sourceId, receivedAt, message, outcomes} per line instead of only the message, and include messages without contents",
    )
    .addHelpText("after", FILTER_HELP)
    .action((filter: string[], options: ExportOptions) => exportMessages(filter, options, io));
  return examples(command, [
    [
      "Everything of November, for an import into another collector",
      "sluice export --from 2026-11-01 --to 2026-12-01 -o november.jsonl.gz",
    ],
    ["Failed messages with their reasons", "sluice export outcome:failed --outcomes"],
  ]);
}

interface Counts {
  exported: number;
  /** Messages without contents, which cannot be imported. */
  leftOut: number;
}

async function exportMessages(filter: string[], options: ExportOptions, io: Io): Promise<void> {
  const q = readFilterArgument(filter);
  const client = await connect(options, io);
  const { out, from, to, outcomes = false, json } = options;
  const counts: Counts = { exported: 0, leftOut: 0 };
  const lines = exportLines(searchMessages(client, { q, from, to }), outcomes, counts, io);
  if (out === undefined) {
    for await (const line of lines) await io.out(line);
    reportLeftOut(counts, io);
    return;
  }
  const file = createWriteStream(resolve(io.cwd, out), { mode: 0o600 });
  await once(file, "open");
  if (out.endsWith(".gz")) await pipeline(Readable.from(lines), createGzip(), file);
  else await pipeline(Readable.from(lines), file);
  if (json) await io.out(`${terminalJson(counts)}\n`);
  else {
    io.err(`${plural(counts.exported, "message", "messages")} written to ${terminalText(out)}\n`);
    reportLeftOut(counts, io);
  }
}

async function* exportLines(
  messages: AsyncIterable<MessageSummary>,
  withOutcomes: boolean,
  counts: Counts,
  io: Io,
): AsyncGenerator<string> {
  for await (const message of messages) {
    if (io.interrupted.aborted) return;
    if (!withOutcomes && isWithoutContents(message)) {
      counts.leftOut += 1;
      continue;
    }
    counts.exported += 1;
    yield `${terminalJson(withOutcomes ? message : importable(message))}\n`;
  }
}

function reportLeftOut({ leftOut }: Counts, io: Io): void {
  if (leftOut === 0) return;
  const reason =
    leftOut === 1
      ? "it has no contents because its user is suppressed or deleted"
      : "they have no contents because their users are suppressed or deleted";
  io.err(`${plural(leftOut, "message", "messages")} left out: ${reason}\n`);
}

/** The fields that are kept of a suppressed user's message. */
const STUB_FIELDS = new Set(["type", "messageId", "userId", "anonymousId"]);

/** A complete `identify` or `page` can have only these fields too. Only outcomes tell that its user was suppressed. */
function isWithoutContents({ message, outcomes }: MessageSummary): boolean {
  return (
    Object.keys(message).every((field) => STUB_FIELDS.has(field)) &&
    (outcomes.some(({ state }) => state === "suppressed") || validate(message).length > 0)
  );
}

function searchMessages(
  client: AdminClient,
  search: {
    readonly q: string | undefined;
    readonly from: string | undefined;
    readonly to: string | undefined;
  },
): AsyncGenerator<MessageSummary> {
  return allPages((cursor) => client.messages.list({ ...search, limit: 500, cursor }));
}

/** The message with its id and the time it happened, so that an import keeps both. */
function importable({ messageId, receivedAt, message }: MessageSummary): object {
  const timestamp = formatTime(resolveTime(message, parseTime(receivedAt) ?? 0));
  return { ...message, messageId, timestamp };
}
