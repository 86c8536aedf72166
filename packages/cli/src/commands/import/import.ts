import { rm, stat, truncate } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import {
  collectorUrl,
  connectedCommand,
  findWriteKey,
  type WriteKeyOptions,
  withWriteKey,
} from "../../connection/connection.js";
import { examples } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { type Checkpoint, readCheckpoint, removeCheckpoint } from "./checkpoint.js";
import { chooseDelivery, plannedText, readTargets } from "./choose-delivery.js";
import { type ImportProgress, importRecords } from "./import-records.js";
import { addUp, type Input, progressTracker, retryReporter } from "./progress-tracker.js";
import { countRecords, type RecordCount } from "./reading/count-records.js";
import { type FileFormat, type RecordSource, readRecords } from "./reading/read-records.js";
import { refusedJoinCounter, report } from "./report-import.js";

interface ImportCommandOptions extends WriteKeyOptions {
  readonly format?: string;
  readonly rejects?: string;
  readonly restart?: boolean;
  readonly deliver?: boolean;
  readonly json?: boolean;
}

export function importCommand(io: Io): Command {
  const command = connectedCommand(
    "import",
    "send the messages in a file of JSON lines or CSV (also .gz); continues where an earlier run stopped",
  ).argument("<file>", "a file, or - for stdin");
  withWriteKey(command)
    .option("--deliver", "deliver the messages to the source's destinations now")
    .option(
      "--no-deliver",
      "only store the messages and count them in profiles and audiences; destinations that a message's own `integrations` name still get it",
    )
    .option("--format <format>", "jsonl or csv (default: from the file's name)")
    .option("--rejects <file>", "the file for refused messages (default: FILE.rejected.jsonl)")
    .option("--restart", "start from the beginning, even if an earlier run got further")
    .addHelpText(
      "after",
      `
Delivery: on a terminal, it asks whether the messages are delivered. Elsewhere, give --deliver or --no-deliver. Messages that were not delivered can be sent later with \`npx sluice replay\`. What audiences and computed traits send because of the messages is delivered in any case.

CSV: the first line names the fields (type, event, userId, timestamp, properties.plan, traits.email …).
Messages without an id get one from their line, so a file that is imported twice counts once (within the collector's dedupe window of 24 hours).
`,
    )
    .action((file: string, options: ImportCommandOptions) => importFile(file, options, io));
  return examples(command, [
    [
      "History for profiles and audiences, without delivering it",
      "sluice import history.jsonl.gz --no-deliver",
    ],
    ["A table from a spreadsheet, delivered to all destinations", "sluice import signups.csv --deliver"],
  ]);
}

async function importFile(name: string, options: ImportCommandOptions, io: Io): Promise<void> {
  const input = await findInput(name, options, io);
  const format = readFormat(options.format, name);
  const url = await collectorUrl(options, io);
  const writeKey = await findWriteKey(options, io);
  const earlier = input.isStdin || options.restart ? undefined : await readCheckpoint(input.path);
  const afterLine = earlier?.line ?? 0;
  const targets = await readTargets(options, writeKey, io);
  const open = () =>
    readRecords(input.isStdin ? io.stdin : input.path, { format, isGzip: /\.gz$/i.test(name) });
  const deliver = await chooseDelivery(
    {
      given: options.deliver,
      earlier: earlier?.deliver,
      targets,
      count: () => counted(open(), afterLine, io),
      canAsk: io.canAsk && !input.isStdin,
    },
    io,
  );
  await continueFrom(input, earlier, io);
  io.err(`${terminalText(plannedText(deliver, targets))}\n`);
  const joins = refusedJoinCounter(targets, io);
  await joins.start();
  const source = open();
  const startMs = io.monotonic();
  const tracker = progressTracker(input, source, { earlier, deliver }, io);
  const progress = await importRecords({
    url,
    writeKey,
    source,
    deliver,
    afterLine,
    rejectPath: input.rejectPath,
    io,
    onRetry: retryReporter(io),
    onProgress: tracker.onProgress,
  }).catch(async (error: unknown) => {
    await tracker.stop();
    throw error;
  });
  tracker.end();
  if (io.interrupted.aborted) {
    await tracker.save(progress);
    throw interrupted(progress, earlier, input);
  }
  if (!input.isStdin) await removeCheckpoint(input.path);
  const seconds = (io.monotonic() - startMs) / 1_000;
  const result = { progress, earlier, seconds, rejectPath: input.rejectPath, deliver, targets };
  await report({ ...result, joins: await joins.end() }, options.json, io);
}

async function counted(source: RecordSource, afterLine: number, io: Io): Promise<RecordCount> {
  try {
    return await countRecords(source.records, { afterLine, signal: io.interrupted });
  } finally {
    source.close();
  }
}

function interrupted(
  progress: ImportProgress,
  earlier: Checkpoint | undefined,
  { isStdin }: Input,
): CommandFailure {
  return new CommandFailure(
    "interrupted",
    `Interrupted after line ${progress.line}: ${addUp(progress, earlier).accepted} messages accepted`,
    isStdin ? undefined : "Run the same command again to continue",
  );
}

async function findInput(name: string, { rejects }: ImportCommandOptions, io: Io): Promise<Input> {
  const isStdin = name === "-";
  const path = isStdin ? "stdin" : resolve(io.cwd, name);
  return {
    path,
    isStdin,
    size: isStdin ? undefined : await sizeOf(path),
    rejectPath: rejects === undefined ? `${path}.rejected.jsonl` : resolve(io.cwd, rejects),
  };
}

/** Prepares the reject file for a new import, or for one that continues. */
async function continueFrom({ rejectPath }: Input, earlier: Checkpoint | undefined, io: Io): Promise<void> {
  if (earlier === undefined) {
    await rm(rejectPath, { force: true });
    return;
  }
  // Records after the checkpoint are read again, and refused again.
  await truncate(rejectPath, earlier.rejectBytes).catch(() => {});
  io.err(`continuing after line ${earlier.line}; ${earlier.accepted} messages were accepted before\n`);
}

function readFormat(given: string | undefined, name: string): FileFormat {
  const format = given ?? (/\.csv(\.gz)?$/i.test(name) ? "csv" : "jsonl");
  if (format === "jsonl" || format === "csv") return format;
  throw new CommandFailure("usage", `--format must be jsonl or csv, got ${format}`);
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    throw new CommandFailure("usage", `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
