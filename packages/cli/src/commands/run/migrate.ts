import { resolve } from "node:path";
import type { CollectorConfig, ComparedContent, MigrateOptions, MigrationReport } from "@sluice/collector";
import type { Command } from "commander";
import { definedFields } from "../../arguments.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { table } from "../../terminal/table.js";
import { show, terminalText } from "../../terminal/terminal-text.js";
import { bytesText } from "./backup.js";

type Progress = Parameters<MigrateOptions["onProgress"]>[0];

const STEPS: Readonly<Record<Progress["step"], string>> = {
  "count source": "reading the data folder",
  copy: "copying the databases",
  upload: "uploading",
  download: "downloading the newest snapshot",
  "read log": "reading the log",
  check: "comparing",
};
/** A step that goes on is told about this often. */
const EVERY_MS = 2_000;

/** Tells when a step begins, when it ends, and how far it is from time to time. */
function migrationProgress(
  tell: (line: string) => void,
  monotonic: () => number,
): (progress: Progress) => void {
  let last: string | undefined;
  let toldAtMs = 0;
  return (progress) => {
    const nowMs = monotonic();
    const isOver = progress.done !== undefined && progress.done === progress.total;
    const step = STEPS[progress.step];
    if (step === last && !isOver && nowMs - toldAtMs < EVERY_MS) return;
    last = step;
    toldAtMs = nowMs;
    tell(`${step}${amount(progress)}`);
  };
}

function amount({ done, total, unit }: Progress): string {
  if (done === undefined || total === undefined) return "";
  return unit === "bytes" ? `: ${bytesText(done)} of ${bytesText(total)}` : `: ${done} of ${total} entries`;
}

interface MigrateCommandOptions {
  readonly from: string;
  readonly to: string;
  readonly config?: string;
  readonly clusterName?: string;
  readonly clusterAcceptUnsynced?: boolean;
  readonly json?: boolean;
}

export function migrateCommand(io: Io): Command {
  const command = newCommand(
    "migrate",
    "move all data of a stopped collector into a cluster, or of a stopped cluster into a data folder",
  )
    .requiredOption("--from <source>", "a data folder, or the addresses of NATS servers (nats://…)")
    .requiredOption("--to <target>", "the addresses of NATS servers, or a data folder to create")
    .option("--config <file>", "a JSON file with settings (SLUICE_CONFIG)")
    .option("--cluster-name <name>", "the name of the cluster (SLUICE_CLUSTER_NAME)")
    .option(
      "--cluster-accept-unsynced",
      "go on although the NATS servers may lose acknowledged messages in a power cut (SLUICE_CLUSTER_ACCEPT_UNSYNCED)",
    )
    .action((options: MigrateCommandOptions) => run(options, io));
  return examples(command, [
    [
      "Into a new cluster, with its SLUICE_SECRET_KEY in the environment",
      "sluice migrate --from /var/lib/sluice --to nats://10.0.0.1:4222,nats://10.0.0.2:4222",
    ],
    ["And back", "sluice migrate --from nats://10.0.0.1:4222 --to /var/lib/sluice-alone"],
  ]);
}

async function run(options: MigrateCommandOptions, io: Io): Promise<void> {
  const { direction, directory, servers } = endsOf(options, io);
  const { migrate } = await import("@sluice/collector");
  const config = await settings(options, servers, io);
  const report = await migrate({
    ...{ direction, directory, config },
    secretKey: io.env.SLUICE_SECRET_KEY,
    signal: io.interrupted,
    onProgress: migrationProgress((line) => io.err(`${line}\n`), io.monotonic),
  }).catch((error: unknown) => {
    throw failureOf(error, io);
  });
  await show(io, options.json, report, () => reportText(report, io));
}

interface Ends {
  readonly direction: "in" | "out";
  readonly directory: string;
  readonly servers: string;
}

function endsOf({ from, to }: MigrateCommandOptions, io: Io): Ends {
  const isCluster = (text: string): boolean => /^(?:nats|tls):\/\//.test(text);
  if (isCluster(from) === isCluster(to))
    throw new CommandFailure(
      "usage",
      isCluster(from) ? "--from and --to are both NATS servers" : "--from and --to are both folders",
      "One of them is a data folder, the other one the servers of the cluster: nats://10.0.0.1:4222,nats://10.0.0.2:4222",
    );
  return isCluster(to)
    ? { direction: "in", directory: resolve(io.cwd, from), servers: to }
    : { direction: "out", directory: resolve(io.cwd, to), servers: from };
}

async function settings(
  { config: file, clusterName, clusterAcceptUnsynced }: MigrateCommandOptions,
  clusterServers: string,
  io: Io,
): Promise<CollectorConfig> {
  const { ConfigError, loadConfig } = await import("@sluice/collector");
  try {
    return loadConfig({
      // No address is listened on.
      flags: { clusterServers, host: "127.0.0.1", ...definedFields({ clusterName, clusterAcceptUnsynced }) },
      env: io.env,
      ...definedFields({ file: file === undefined ? undefined : resolve(io.cwd, file) }),
    });
  } catch (error) {
    throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
  }
}

function failureOf(error: unknown, io: Io): unknown {
  const {
    name,
    message,
    contents = [],
  } = error as Error & { readonly contents?: readonly ComparedContent[] };
  if (name === "CannotMigrate") {
    if (contents.length > 0) io.err(contentsTable(contents, io));
    return new CommandFailure("failed", message);
  }
  if (io.interrupted.aborted)
    return new CommandFailure(
      "interrupted",
      "Interrupted. Nothing was put into use",
      "Run the same command again to go on",
    );
  if (name === "EngineUnavailable")
    return new CommandFailure(
      "failed",
      `The connection to the NATS servers was lost: ${message}`,
      "Nothing was put into use. Run the same command again to go on",
    );
  return error;
}

function contentsTable(contents: readonly ComparedContent[], io: Io): string {
  const rows = contents.map(({ what, source, result, isEqual }) => [
    ...[what, source.count, result.count, source.checksum, result.checksum],
    isEqual ? "equal" : "DIFFERENT",
  ]);
  return table(["WHAT", "SOURCE", "RESULT", "CHECKSUM", "OF RESULT", ""], rows, io);
}

function reportText(report: MigrationReport, io: Io): string {
  const { kind, direction, cluster, contents } = report;
  const [folder, named] = [terminalText(report.directory), `the cluster ${terminalText(cluster)}`];
  const before = kind === "done before" ? "an earlier run had finished: " : "";
  const result =
    direction === "in"
      ? `${before}${named} has all data of ${folder}, which was not changed`
      : `${before}${folder} has all data of ${named}, which was not changed`;
  return `${contentsTable(contents, io)}\n${[result, ...nextSteps(report)].join("\n")}\n`;
}

function nextSteps({ direction, directory, secretKey }: MigrationReport): string[] {
  const folder = terminalText(directory);
  if (direction === "in")
    return [
      "Start the collectors of the cluster, each with an empty data folder. Do not start a collector on this one again: it would send everything that waits for the second time",
      ...(secretKey === "folder"
        ? [`Set SLUICE_SECRET_KEY of all collectors to the content of ${folder}/secret.key`]
        : []),
      "Tokens stay valid, also the one in the file admin-token",
    ];
  return [
    "Start one collector on the folder, with the same SLUICE_SECRET_KEY. Do not start the collectors of the cluster again: they would send everything that waits for the second time",
    "Tokens stay valid",
  ];
}
