import { rm, stat, truncate } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { connectedCommand } from "../../connection/connected-command.js";
import {
  collectorUrl,
  findWriteKey,
  type WriteKeyOptions,
  withWriteKey,
} from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type Checkpoint, readCheckpoint, removeCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { type ImportProgress, importRecords } from "./import-records.js";
import { progressLine } from "./progress-line.js";
import { type FileFormat, type RecordSource, readRecords } from "./read-records.js";

interface ImportCommandOptions extends WriteKeyOptions {
  readonly format?: string;
  readonly rejects?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
}

export function importCommand(io: Io): Command {
  const command = connectedCommand(
    "import",
    "send the messages in a file of JSON lines or CSV (also .gz); continues where an earlier run stopped",
  ).argument("<file>", "a file, or - for stdin");
  withWriteKey(command)
    .option("--format <format>", "jsonl or csv (default: from the file's name)")
    .option("--rejects <file>", "the file for refused messages (default: FILE.rejected.jsonl)")
    .option("--restart", "start from the beginning, even if an earlier run got further")
    .addHelpText(
      "after",
      `
CSV: the first line names the fields (type, event, userId, timestamp, properties.plan, traits.email …).
Messages without an id get one from their line, so a file that is imported twice counts once (within the collector's
dedupe window of 24 hours).
`,
    )
    .action((file: string, options: ImportCommandOptions) => importFile(file, options, io));
  return examples(command, [
    ["A year of events", "sluice import 2025.jsonl.gz"],
    ["A table from a spreadsheet", "sluice import signups.csv --write-key …"],
  ]);
}

/** The file to import. It has no size and no checkpoint if it is stdin. */
interface Input {
  readonly path: string;
  readonly isStdin: boolean;
  readonly size: number | undefined;
  readonly rejectPath: string;
}

async function importFile(name: string, options: ImportCommandOptions, io: Io): Promise<void> {
  const input = await findInput(name, options, io);
  const format = readFormat(options.format, name);
  const url = await collectorUrl(options, io);
  const writeKey = await findWriteKey(options, io);
  const earlier = await continueFrom(input, options, io);
  const source = readRecords(input.isStdin ? io.stdin : input.path, { format, isGzip: /\.gz$/i.test(name) });
  const startMs = io.monotonic();
  const tracker = progressTracker(input, source, earlier, io);
  const progress = await importRecords({
    url,
    writeKey,
    source,
    afterLine: earlier?.line ?? 0,
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
    throw new CommandFailure(
      "interrupted",
      `Interrupted after line ${progress.line}: ${addUp(progress, earlier).accepted} messages accepted`,
      input.isStdin ? undefined : "Run the same command again to continue",
    );
  }
  if (!input.isStdin) await removeCheckpoint(input.path);
  const seconds = (io.monotonic() - startMs) / 1_000;
  await report({ progress, earlier, seconds, rejectPath: input.rejectPath }, options.json, io);
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

/** Where an earlier run stopped, unless this one starts from the beginning. Prepares the reject file for it. */
async function continueFrom(
  { path, isStdin, rejectPath }: Input,
  { restart }: ImportCommandOptions,
  io: Io,
): Promise<Checkpoint | undefined> {
  const earlier = isStdin || restart ? undefined : await readCheckpoint(path);
  if (earlier === undefined) {
    await rm(rejectPath, { force: true });
    return undefined;
  }
  // Records after the checkpoint are read again, and refused again.
  await truncate(rejectPath, earlier.rejectBytes).catch(() => {});
  io.err(`continuing after line ${earlier.line}; ${earlier.accepted} messages were accepted before\n`);
  return earlier;
}

const CHECKPOINT_EVERY_MS = 1_000;

/** Shows the progress and saves it in the checkpoint. */
interface ProgressTracker {
  readonly onProgress: (progress: ImportProgress) => Promise<void>;
  save(progress: ImportProgress): Promise<void>;
  /** Ends the progress line. */
  end(): void;
  /** Saves how far a failed import got, and prints it. */
  stop(): Promise<void>;
}

function progressTracker(
  { path, isStdin, size }: Input,
  source: RecordSource,
  earlier: Checkpoint | undefined,
  io: Io,
): ProgressTracker {
  const line = progressLine(io);
  const startMs = io.monotonic();
  let savedAtMs = startMs;
  let latest: ImportProgress | undefined;
  const save = async (progress: ImportProgress): Promise<void> => {
    if (isStdin) return;
    savedAtMs = io.monotonic();
    await writeCheckpoint(path, checkpointOf(progress, earlier, await stat(path)));
  };
  return {
    save,
    end: () => line.end(),
    async onProgress(progress) {
      latest = progress;
      const elapsedMs = io.monotonic() - startMs;
      const done = progress.accepted + progress.rejected;
      const share = size === undefined || size === 0 ? undefined : source.bytesRead() / size;
      line.show({
        done,
        share,
        rate: perSecond(done, elapsedMs / 1_000),
        etaMs: share === undefined || share === 0 ? undefined : (elapsedMs / share) * (1 - share),
      });
      if (io.monotonic() - savedAtMs >= CHECKPOINT_EVERY_MS) await save(progress);
    },
    async stop() {
      line.end();
      if (latest === undefined || isStdin) return;
      await save(latest);
      const { accepted } = addUp(latest, earlier);
      io.err(
        `stopped after line ${latest.line}; ${accepted} messages were accepted. Run the same command again to continue\n`,
      );
    },
  };
}

/** Prints why a request is retried. Without a terminal, only the first time. */
function retryReporter(io: Io): (reason: string) => void {
  let isReported = false;
  return (reason) => {
    if (!io.isErrTerminal && isReported) return;
    isReported = true;
    io.err(`${io.isErrTerminal ? "\n" : ""}${io.errStyle.yellow(terminalText(reason))}; retrying\n`);
  };
}

interface ImportResult {
  readonly progress: ImportProgress;
  readonly earlier: Checkpoint | undefined;
  readonly seconds: number;
  readonly rejectPath: string;
}

async function report(
  { progress, earlier, seconds, rejectPath }: ImportResult,
  asJson: boolean | undefined,
  io: Io,
): Promise<void> {
  const totals = addUp(progress, earlier);
  const rate = Math.round(perSecond(progress.accepted + progress.rejected, seconds));
  if (asJson) {
    const rejects = totals.rejected > 0 ? { rejects: rejectPath } : {};
    await io.out(`${terminalJson({ ...totals, seconds, rate, ...rejects })}\n`);
  } else {
    const total = earlier === undefined ? "" : `; in total ${counts(totals)}`;
    await io.out(
      `${io.style.green("imported")} ${counts(progress)} in ${seconds.toFixed(1)} s, ${rate}/s${total}\n`,
    );
  }
  if (totals.rejected > 0)
    throw new CommandFailure(
      "partly",
      `${plural(totals.rejected, "message was", "messages were")} refused`,
      `See ${terminalText(rejectPath)} for the messages and the reasons`,
    );
}

function perSecond(count: number, seconds: number): number {
  return count / Math.max(0.001, seconds);
}

/** `accepted` includes duplicates, which are not new. */
function counts({
  accepted,
  duplicates,
}: {
  readonly accepted: number;
  readonly duplicates: number;
}): string {
  if (duplicates === 0) return plural(accepted, "message", "messages");
  return `${accepted - duplicates} new, ${duplicates} duplicates`;
}

function addUp(progress: ImportProgress, earlier: Checkpoint | undefined) {
  return {
    accepted: progress.accepted + (earlier?.accepted ?? 0),
    duplicates: progress.duplicates + (earlier?.duplicates ?? 0),
    rejected: progress.rejected + (earlier?.rejected ?? 0),
  };
}

function checkpointOf(
  progress: ImportProgress,
  earlier: Checkpoint | undefined,
  { size, mtimeMs }: { readonly size: number; readonly mtimeMs: number },
): Checkpoint {
  return {
    line: progress.line,
    ...addUp(progress, earlier),
    rejectBytes: progress.rejectBytes === 0 ? (earlier?.rejectBytes ?? 0) : progress.rejectBytes,
    size,
    modifiedMs: mtimeMs,
  };
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
