import { join, resolve } from "node:path";
import type { BackupManifest, DamagedManifest, TakenBackup, VerifiedFolder } from "@sluice/collector";
import type { Command } from "commander";
import { readInteger } from "../../arguments/numbers.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { backupLine, bytesText, damagedLine, unusable } from "./backup-text.js";

interface BackupOptions extends CommandOptions {
  readonly keep?: number;
  readonly verify?: boolean;
  readonly list?: boolean;
}

export function backupCommand(io: Io): Command {
  const command = connectedCommand(
    "backup",
    "back up a running collector into a folder, where only changes since the last backup are copied",
  )
    .argument("<folder>", "the folder for the backups; - writes one tar archive to stdout")
    .option("--keep <count>", "afterwards, remove all but the newest backups of the folder", (text) =>
      readInteger("--keep", text, 1, 1e6),
    )
    .option("--verify", "make no backup: compare every backup in the folder with its checksums")
    .option("--list", "make no backup: list the backups in the folder")
    .action((folder: string, options: BackupOptions) => run(folder, options, io));
  return examples(command, [
    ["Every night; the backups of two weeks are kept", "sluice backup /backup/sluice --keep 14"],
    ["Into one file, or to another machine", "sluice backup - | zstd > sluice.tar.zst"],
    ["Check that the backups are readable", "sluice backup /backup/sluice --verify"],
  ]);
}

async function run(target: string, options: BackupOptions, io: Io): Promise<void> {
  if (target === "-") return writeArchive(options, io);
  const { BackupFolder, damageText } = await import("@sluice/collector");
  const folder = new BackupFolder(resolve(io.cwd, target));
  if (options.verify) {
    return reportVerified(await folder.verify().catch(unusable), folder.path, options, io);
  }
  if (options.list) {
    const { manifests, damaged } = await folder.list().catch(unusable);
    const lines = [...manifests.map(backupLine), ...damaged.map(damagedLine)];
    return show(io, options.json, [...manifests.map(summary), ...damaged.map(damagedSummary)], () =>
      lines.length === 0 ? "no backups\n" : lines.join(""),
    );
  }
  const client = await connect(options, io);
  const { keep } = options;
  const taken = await folder
    .take((known) => client.backup({ known, signal: io.interrupted }), keep === undefined ? {} : { keep })
    .catch(unusable);
  await show(
    io,
    options.json,
    { ...summary(taken.manifest), copiedBytes: taken.copiedBytes, removed: taken.removed },
    () => takenText(taken, folder.path),
  );
  for (const one of taken.damaged)
    io.err(
      `warning: ${damageText(one)}. Delete ${terminalText(join(folder.path, "backups", `${one.id}.json`))} if you do not need it: until then, no space of removed backups is freed\n`,
    );
}

async function writeArchive({ keep, verify, list, json, ...options }: BackupOptions, io: Io): Promise<void> {
  if (keep !== undefined || verify || list || json)
    throw new CommandFailure(
      "usage",
      "--keep, --verify, --list and --json need a folder: - is a single archive",
    );
  const { passedArchive } = await import("@sluice/collector");
  const client = await connect(options, io);
  const archive = await client.backup({ known: "", signal: io.interrupted });
  const manifest = await passedArchive(archive, (bytes) => io.outBytes(bytes)).catch(unusable);
  io.err(backupLine(manifest));
}

const totalBytes = ({ files }: BackupManifest): number => files.reduce((sum, file) => sum + file.bytes, 0);

function summary(manifest: BackupManifest): object {
  const { id, createdAt, version, counts } = manifest;
  return { id, createdAt, version, counts, bytes: totalBytes(manifest) };
}

function damagedSummary({ id, reason }: DamagedManifest): object {
  return { id, damaged: reason };
}

function takenText({ manifest, copiedBytes, removed }: TakenBackup, path: string): string {
  const key =
    manifest.secretKey === "included"
      ? "The backup holds the secret key and all messages: keep it as safe as the data folder\n"
      : "The secret key is not in the backup, because it is in the collector's environment: keep a copy of it\n";
  const pruned =
    removed.length === 0 ? "" : `removed ${plural(removed.length, "older backup", "older backups")}\n`;
  const isWhole = copiedBytes >= totalBytes(manifest);
  const rest = isWhole ? "" : "; earlier backups had the rest";
  return `${backupLine(manifest)}copied ${bytesText(copiedBytes)} into ${terminalText(path)}${rest}\n${pruned}${key}`;
}

async function reportVerified(
  { backups, damaged }: VerifiedFolder,
  path: string,
  { json }: BackupOptions,
  io: Io,
): Promise<void> {
  if (backups.length + damaged.length === 0)
    throw new CommandFailure("notFound", `There are no backups in ${path}`);
  const shown = [
    ...backups.map(({ manifest, bad }) => ({ ...summary(manifest), damagedPieces: bad.length })),
    ...damaged.map(damagedSummary),
  ];
  const result = (bad: readonly string[]): string =>
    bad.length === 0 ? "ok" : `${plural(bad.length, "piece is", "pieces are")} damaged or missing`;
  await show(io, json, shown, () =>
    [
      ...backups.map(({ manifest, bad }) => backupLine(manifest).replace("\n", `: ${result(bad)}\n`)),
      ...damaged.map(damagedLine),
    ].join(""),
  );
  const lost = backups.filter(({ bad }) => bad.length > 0).length + damaged.length;
  if (lost > 0)
    throw new CommandFailure(
      "partly",
      `${plural(lost, "backup", "backups")} cannot be restored`,
      "Check the disk. Make new backups into an empty folder: a damaged piece is not copied again",
    );
}
