import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { definedFields } from "../../arguments.js";
import {
  adminUrl,
  collectorUrl,
  dataFolder,
  type WriteKeyOptions,
  withConnection,
  withWriteKey,
} from "../../connection/connection.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { checkAddress, checkWriteKey } from "./address-checks.js";
import { type Check, checkLine } from "./check.js";
import { checkCollector } from "./collector-checks.js";
import { checkDataFolder, checkLocalDisk, checkNode } from "./machine-checks.js";
import { buildReport, CONTENTS } from "./report/report.js";

interface DoctorOptions extends WriteKeyOptions {
  readonly json?: boolean;
  readonly report?: string | true;
}

export function doctorCommand(io: Io): Command {
  const command = withConnection(
    newCommand(
      "doctor",
      "check for problems: Node.js, data folder, disk, addresses, proxy, token, write key, clock, refused requests, incidents, audiences, destinations",
    ),
  );
  withWriteKey(command)
    .option(
      "--report [file]",
      "also write a file for a bug report, without personal data, names, addresses and secrets (default: sluice-report-TIME.json); never overwrites a file",
    )
    .action((options: DoctorOptions) => doctor(options, io));
  return examples(command, [
    ["The sluice dev on this machine", "sluice doctor"],
    [
      "A collector on another machine",
      "sluice doctor --url https://events.example.com --token … --write-key …",
    ],
    [
      "Behind a proxy, with an address of its own for the control API",
      "SLUICE_URL=https://events.example.com SLUICE_ADMIN_URL=http://127.0.0.1:8788 sluice doctor --token …",
    ],
    ["A file for a bug report", "sluice doctor --report report.json"],
  ]);
}

async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const folder = dataFolder(options, io);
  const checks: Check[] = [checkNode(process.versions.node), await checkDataFolder(folder)];
  const url = await collectorUrl(options, io);
  const admin = await adminUrl(options, io);
  const address = await checkAddress(url);
  checks.push(address.check);
  if (address.responds) {
    if (admin !== url) checks.push((await checkAddress(admin)).check);
    checks.push(...(await checkCollector(options, admin, io)));
    checks.push(...(await checkWriteKey(options, url, io)));
  }
  if (!checks.some(({ name }) => name === "disk")) checks.push(await checkLocalDisk(folder));
  const problems = checks.filter(({ result }) => result === "problem").length;
  const report = options.report === undefined ? undefined : reportFile(options.report, io);
  if (report !== undefined)
    await writeReport(await buildReport(checks, { url, admin }, options, io), report, io);
  if (options.json) await io.out(`${terminalJson({ url, checks, ...definedFields({ report }) })}\n`);
  else await io.out(checks.map((check) => checkLine(check, io)).join(""));
  if (report !== undefined) io.err(reportSummary(report));
  if (problems > 0) throw new CommandFailure("partly", `${plural(problems, "problem", "problems")} found`);
}

/** `given`: the value of `--report`; true without one. */
function reportFile(given: string | true, io: Io): string {
  return given === true
    ? `sluice-report-${new Date(io.now()).toISOString().replace(/[:.]/g, "-")}.json`
    : given;
}

/** Writes the report for its owner alone. A file that exists is kept. */
async function writeReport(report: object, file: string, io: Io): Promise<void> {
  try {
    await writeFile(resolve(io.cwd, file), `${JSON.stringify(report, null, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
    });
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      throw new CommandFailure(
        "usage",
        `${terminalText(file)} exists and was not changed`,
        "Give another file, or remove this one",
      );
    throw new CommandFailure("failed", `${terminalText(file)} cannot be written: ${code}`);
  }
}

/** What the file contains. */
function reportSummary(file: string): string {
  const width = Math.max(...CONTENTS.map(([name]) => name.length));
  return [
    `\nReport written to ${terminalText(file)}. It contains:`,
    ...CONTENTS.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`),
    "It has no messages, user ids, names, URLs, paths, tokens or keys, and no log lines.",
    "Read it before you send it to anybody.",
    "",
  ].join("\n");
}
