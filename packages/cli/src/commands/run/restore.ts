import { resolve } from "node:path";
import type { RestoreReport } from "@sluice/collector";
import type { Command } from "commander";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { backupLine, unusable } from "./backup-text.js";

interface RestoreCommandOptions {
  readonly dataDir: string;
  readonly backup?: string;
  readonly json?: boolean;
}

export function restoreCommand(io: Io): Command {
  const command = newCommand("restore", "make a data folder from a backup, after checking every checksum")
    .argument("<from>", "a folder with backups, or a tar archive; - reads an archive from stdin")
    .requiredOption("--data-dir <folder>", "the data folder to create; it must not exist, or be empty")
    .option("--backup <id>", "the backup of the folder (default: the newest)")
    .action((from: string, options: RestoreCommandOptions) => restore(from, options, io));
  return examples(command, [
    ["The newest backup", "sluice restore /backup/sluice --data-dir /var/lib/sluice"],
    ["From an archive", "zstd -d < sluice.tar.zst | sluice restore - --data-dir /var/lib/sluice"],
  ]);
}

async function restore(from: string, options: RestoreCommandOptions, io: Io): Promise<void> {
  const { restoreBackup } = await import("@sluice/collector");
  const { backup, dataDir, json } = options;
  const secretKey = io.env.SLUICE_SECRET_KEY;
  const report = await restoreBackup({
    from: from === "-" ? io.stdin : resolve(io.cwd, from),
    directory: resolve(io.cwd, dataDir),
    ...(backup === undefined ? {} : { backupId: backup }),
    ...(secretKey === undefined ? {} : { secretKey }),
  }).catch(unusable);
  const { manifest, directory, bytes, deletions, damaged } = report;
  const { id, createdAt, version, counts } = manifest;
  const shown = { directory, id, createdAt, version, counts, bytes, deletions, damaged };
  await show(io, json, shown, () => reportText(report));
  if (!json)
    io.err(
      warnings(report)
        .map((line) => `warning: ${line}\n`)
        .join(""),
    );
}

function reportText({ manifest, directory, deletions }: RestoreReport): string {
  const documents = Object.entries(manifest.counts.documents)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind.replaceAll("_", " ")}`);
  const repeated = deletions.repeated;
  return [
    backupLine(manifest).trimEnd(),
    `made by version ${terminalText(manifest.version)}; documents: ${documents.join(", ") || "none"}`,
    ...(repeated === 0
      ? []
      : [
          `${plural(repeated, "deletion", "deletions")} of users made after this backup will run again when the collector starts`,
        ]),
    `restored into ${terminalText(directory)}`,
    "Messages that were not delivered at the time of the backup will be delivered, perhaps for the second time",
    "",
  ].join("\n");
}

function warnings({ manifest, deletions, isNewest, directory, damaged }: RestoreReport): string[] {
  const since = terminalText(manifest.createdAt);
  return [
    ...(manifest.secretKey === "environment"
      ? ["the backup has no secret key: start the collector with the same SLUICE_SECRET_KEY as before"]
      : []),
    ...(deletions.withoutKey === 0
      ? []
      : [
          `${plural(deletions.withoutKey, "deletion", "deletions")} of users made after this backup cannot be repeated without the secret key: set SLUICE_SECRET_KEY, delete ${terminalText(shellWord(directory))} and restore again`,
        ]),
    ...(isNewest
      ? [
          `users deleted after ${since} are in the data again: delete them again, as the guide to backups says`,
        ]
      : []),
    ...damaged.map(
      ({ id, reason }) =>
        `the manifest of backup ${id} ${reason}. Deletions of users that only this backup records are not repeated`,
    ),
  ];
}
