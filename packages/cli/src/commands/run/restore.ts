import { resolve } from "node:path";
import type { ReadBackup } from "@sluice/collector";
import type { Command } from "commander";
import { examples, newCommand } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { backupLine, summary, unusable } from "./backup.js";

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
