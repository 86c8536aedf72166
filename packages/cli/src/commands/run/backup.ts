import { createReadStream, existsSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { ReadBackup } from "@sluice/collector";
import type { Command } from "commander";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { show, terminalText } from "../../terminal/terminal-text.js";

const UNITS = ["bytes", "KB", "MB", "GB", "TB"] as const;

/** `512 bytes`, `3.4 MB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_024 && unit < UNITS.length - 1; unit++) value /= 1_024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** A backup in one line, without its end. */
function backupLine({ info: { createdAt, counts }, bytes }: ReadBackup): string {
  return `backup of ${terminalText(createdAt)}: ${plural(counts.messages, "message", "messages")}, ${bytesText(bytes)}`;
}

/** A backup for `--json`. */
function summary({ info: { createdAt, version, counts }, bytes }: ReadBackup): object {
  return { createdAt, version, counts, bytes };
}

/** Throws a failure with the reason why a backup cannot be made, read or restored. */
function unusable(error: unknown): never {
  const { name, message, code } = error as { name?: string; message: string; code?: string };
  if (name === "UnusableBackup") throw new CommandFailure("failed", capital(message));
  if (code === "ENOENT") throw new CommandFailure("notFound", `There is no such file: ${message}`);
  if (code === "ENOSPC")
    throw new CommandFailure("failed", "The disk is full", "Nothing was kept. Free some space and try again");
  if (error instanceof TypeError && message === "terminated")
    throw new CommandFailure(
      "failed",
      "The connection ended before the backup was complete",
      "Nothing of this backup was kept. See the collector's log, and try again",
    );
  throw error;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface BackupOptions extends CommandOptions {
  readonly verify?: boolean;
}

/** Ends the name of an archive that is not complete. */
const PARTIAL = ".partial";

export function backupCommand(io: Io): Command {
  const command = connectedCommand("backup", "back up a running collector into a tar archive, and check it")
    .argument("<file>", "the archive, a new file; - writes it to stdout")
    .option("--verify", "make no backup: compare an archive with its checksums; - reads it from stdin")
    .action((file: string, options: BackupOptions) => run(file, options, io));
  return examples(command, [
    ["Every night", 'sluice backup "/backup/sluice-$(date +%F).tar"'],
    ["Compressed, or to another machine", "sluice backup - | zstd > sluice.tar.zst"],
    ["Check that a backup can be restored", "sluice backup /backup/sluice-2026-11-27.tar --verify"],
  ]);
}

async function run(target: string, options: BackupOptions, io: Io): Promise<void> {
  const file = target === "-" ? undefined : resolve(io.cwd, target);
  if (options.verify) return verify(file, options, io);
  if (file === undefined) return writeToStdout(options, io);
  if (existsSync(file))
    throw new CommandFailure(
      "failed",
      `${terminalText(file)} exists`,
      "Choose another name, or move it away. Nothing was changed",
    );
  const client = await connect(options, io);
  const archive = await client.backup(io.interrupted);
  const read = await writeFile(file, archive).catch(unusable);
  await show(io, options.json, { file, ...summary(read) }, () => takenText(read, file));
}

async function verify(file: string | undefined, { json }: BackupOptions, io: Io): Promise<void> {
  const { readArchive } = await import("@sluice/collector");
  const read = await readArchive(file === undefined ? io.stdin : createReadStream(file)).catch(unusable);
  await show(io, json, summary(read), () => `${backupLine(read)}: all checksums are right\n`);
}

async function writeToStdout(options: BackupOptions, io: Io): Promise<void> {
  if (options.json) throw new CommandFailure("usage", "--json needs a file: - writes the archive to stdout");
  const client = await connect(options, io);
  const archive = await client.backup(io.interrupted);
  const read = await checkedWhile(archive, (bytes) => io.outBytes(bytes)).catch(unusable);
  io.err(`${backupLine(read)}\n`);
}

/** Under another name until it is whole and on the disk. */
async function writeFile(file: string, archive: AsyncIterable<Uint8Array>): Promise<ReadBackup> {
  const partial = `${file}${PARTIAL}`;
  try {
    const handle = await open(partial, "w", 0o600);
    const read = await writeInto(handle, archive).finally(() => handle.close());
    await rename(partial, file);
    return read;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function writeInto(handle: FileHandle, archive: AsyncIterable<Uint8Array>): Promise<ReadBackup> {
  const read = await checkedWhile(archive, (bytes) => handle.writeFile(bytes));
  await handle.sync();
  return read;
}

/** Passes an archive on as it comes, and compares it with its checksums. */
async function checkedWhile(
  archive: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<ReadBackup> {
  const { readArchive } = await import("@sluice/collector");
  const passing = async function* (): AsyncGenerator<Uint8Array> {
    for await (const bytes of archive) {
      await write(bytes);
      yield bytes;
    }
  };
  return readArchive(passing());
}

function takenText(read: ReadBackup, file: string): string {
  const key =
    read.info.secretKey === "included"
      ? "The backup holds the secret key and all messages: keep it as safe as the data folder\n"
      : "The secret key is not in the backup, because it is in the collector's environment: keep a copy of it\n";
  return `${backupLine(read)}\nwritten to ${terminalText(file)}, all checksums are right\n${key}`;
}

interface RestoreCommandOptions {
  readonly dataDir: string;
  readonly json?: boolean;
}

export function restoreCommand(io: Io): Command {
  const command = newCommand("restore", "make a data folder from a backup, if all its checksums are right")
    .argument("<file>", "an archive of sluice backup; - reads it from stdin")
    .requiredOption("--data-dir <folder>", "the data folder to create; it must not exist, or be empty")
    .action((from: string, options: RestoreCommandOptions) => restore(from, options, io));
  return examples(command, [
    ["A file", "sluice restore /backup/sluice-2026-11-27.tar --data-dir /var/lib/sluice"],
    ["A compressed one", "zstd -dc sluice.tar.zst | sluice restore - --data-dir /var/lib/sluice"],
  ]);
}

async function restore(from: string, { dataDir, json }: RestoreCommandOptions, io: Io): Promise<void> {
  const { restoreBackup } = await import("@sluice/collector");
  const directory = resolve(io.cwd, dataDir);
  const read = await restoreBackup({
    from: from === "-" ? io.stdin : resolve(io.cwd, from),
    directory,
  }).catch(unusable);
  await show(io, json, { directory, ...summary(read) }, () => reportText(read, directory));
  if (!json) io.err(warnings(read));
}

function reportText(read: ReadBackup, directory: string): string {
  const { version, counts } = read.info;
  const documents = Object.entries(counts.documents)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${terminalText(kind).replaceAll("_", " ")}`);
  return [
    backupLine(read),
    `made by version ${terminalText(version)}; documents: ${documents.join(", ") || "none"}`,
    `restored into ${terminalText(directory)}`,
    "Messages that were not delivered at the time of the backup will be delivered, perhaps for the second time",
    "",
  ].join("\n");
}

function warnings({ info: { secretKey, createdAt } }: ReadBackup): string {
  return [
    ...(secretKey === "environment"
      ? ["the backup has no secret key: start the collector with the same SLUICE_SECRET_KEY as before"]
      : []),
    `users deleted after ${terminalText(createdAt)} are in the data again: delete them again, as the guide to backups says`,
  ]
    .map((line) => `warning: ${line}\n`)
    .join("");
}
