import { rm, stat, truncate } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import {
  type ConnectionOptions,
  collectorUrl,
  findWriteKey,
  withConnection,
} from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type Checkpoint, readCheckpoint, removeCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { type ImportProgress, importRecords } from "./import-records.js";
import { progressLine } from "./progress-line.js";
import { type FileFormat, readRecords } from "./read-records.js";

interface ImportCommandOptions extends ConnectionOptions {
  readonly writeKey?: string;
  readonly format?: string;
  readonly rejects?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
}

export function importCommand(io: Io): Command {
  const command = withConnection(
    newCommand(
      "import",
      "send the messages of a file: JSON lines (also .gz) or CSV; goes on where it was interrupted",
    ),
  )
    .argument("<file>", "a file, or - for stdin")
    .option("--write-key <key>", "a source's write key (SLUICE_WRITE_KEY; default: that of sluice dev)")
    .option("--format <format>", "jsonl or csv (default: by the file's name)")
    .option("--rejects <file>", "where refused messages go (default: FILE.rejected.jsonl)")
    .option("--restart", "begin at the start although an earlier run came further")
    .addHelpText(
      "after",
      "\nCSV: the first line names the fields (type, event, userId, timestamp, properties.plan, traits.email …).\nMessages without an id get one made of their line, so that importing a file twice counts once (within the\ncollector's dedupe window of 24 h).\n",
    )
    .action((file: string, options: ImportCommandOptions) => importCommandAction(file, options, io));
  return examples(command, [
    ["A year of events", "sluice import 2025.jsonl.gz"],
    ["A table from a spreadsheet", "sluice import signups.csv --write-key …"],
  ]);
}

const CHECKPOINT_EVERY_MS = 1_000;

async function importCommandAction(name: string, options: ImportCommandOptions, io: Io): Promise<void> {
  const isStdin = name === "-";
  const file = isStdin ? "stdin" : resolve(io.cwd, name);
  const size = isStdin ? undefined : await sizeOf(file);
  const isGzip = /\.gz$/i.test(name);
  const format = readFormat(options.format, name);
  const rejectFile =
    options.rejects === undefined ? `${file}.rejected.jsonl` : resolve(io.cwd, options.rejects);
  const url = await collectorUrl(options, io);
  const writeKey = await findWriteKey(options, io);

  const earlier = isStdin || options.restart ? undefined : await readCheckpoint(file);
  if (earlier === undefined) await rm(rejectFile, { force: true });
  else {
    // Refused records after the checkpoint will be met again.
    await truncate(rejectFile, earlier.rejectBytes).catch(() => {});
    io.err(`going on after line ${earlier.line}, with ${earlier.accepted} accepted before\n`);
  }
  const source = readRecords(isStdin ? io.stdin : file, { format, isGzip });
  const line = progressLine(io);
  const startMs = io.monotonic();
  let savedAtMs = startMs;
  const save = async (progress: ImportProgress): Promise<void> => {
    if (isStdin) return;
    savedAtMs = io.monotonic();
    await writeCheckpoint(file, checkpointOf(progress, earlier, await stat(file)));
  };
  /** Where nobody watches, once is enough. */
  let isRetrySaid = false;
  let latest: ImportProgress | undefined;
  const progress = await importRecords({
    url,
    writeKey,
    source,
    afterLine: earlier?.line ?? 0,
    rejectFile,
    io,
    onRetry: (reason) => {
      if (!io.isWatched && isRetrySaid) return;
      isRetrySaid = true;
      io.err(`${io.isWatched ? "\n" : ""}${io.errStyle.yellow(terminalText(reason))}; trying again\n`);
    },
    async onProgress(now) {
      latest = now;
      const elapsedMs = io.monotonic() - startMs;
      const done = now.accepted + now.rejected;
      const share = size === undefined || size === 0 ? undefined : source.bytesRead() / size;
      line.show({
        done,
        share,
        rate: done / Math.max(0.001, elapsedMs / 1_000),
        etaMs: share === undefined || share === 0 ? undefined : (elapsedMs / share) * (1 - share),
      });
      if (io.monotonic() - savedAtMs >= CHECKPOINT_EVERY_MS) await save(now);
    },
  }).catch(async (error: unknown) => {
    line.end();
    if (latest !== undefined && !isStdin) {
      await save(latest);
      const { accepted } = addUp(latest, earlier);
      io.err(
        `stopped after line ${latest.line}, with ${accepted} accepted; the same command goes on from there\n`,
      );
    }
    throw error;
  });
  line.end();
  const totals = addUp(progress, earlier);
  if (io.interrupted.aborted) {
    await save(progress);
    throw new CommandFailure(
      "interrupted",
      `Interrupted after line ${progress.line}: ${totals.accepted} accepted`,
      isStdin ? undefined : "Run the same command again to go on from there",
    );
  }
  if (!isStdin) await removeCheckpoint(file);
  const seconds = (io.monotonic() - startMs) / 1_000;
  const rate = Math.round((progress.accepted + progress.rejected) / Math.max(0.001, seconds));
  if (options.json)
    await io.out(
      `${terminalJson({ ...totals, seconds, rate, ...(totals.rejected > 0 ? { rejects: rejectFile } : {}) })}\n`,
    );
  else
    await io.out(
      `${io.style.green("imported")} ${counts(progress)} in ${seconds.toFixed(1)} s, ${rate}/s${earlier === undefined ? "" : `; with the earlier run: ${counts(totals)}`}\n`,
    );
  if (totals.rejected > 0)
    throw new CommandFailure(
      "partly",
      `${plural(totals.rejected, "message was", "messages were")} refused: ${terminalText(rejectFile)} says which and why`,
    );
}

/** Accepted ones that were known already are no new ones. */
function counts({
  accepted,
  duplicates,
}: {
  readonly accepted: number;
  readonly duplicates: number;
}): string {
  if (duplicates === 0) return plural(accepted, "message", "messages");
  return `${accepted - duplicates} new, ${duplicates} known already`;
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
