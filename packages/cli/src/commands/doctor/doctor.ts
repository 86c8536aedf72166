import { resolve } from "node:path";
import type { Command } from "commander";
import {
  collectorUrl,
  DEV_DATA_DIR,
  type WriteKeyOptions,
  withConnection,
  withWriteKey,
} from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { checkAddress, checkWriteKey } from "./address-checks.js";
import { type Check, checkLine } from "./check.js";
import { checkCollector } from "./collector-checks.js";
import { checkDisk, checkNode } from "./machine-checks.js";

interface DoctorOptions extends WriteKeyOptions {
  readonly json?: boolean;
}

export function doctorCommand(io: Io): Command {
  const command = withConnection(
    newCommand(
      "doctor",
      "check for problems: Node.js, disk, address, token, write key, clock, audiences, destinations",
    ),
  );
  withWriteKey(command).action((options: DoctorOptions) => doctor(options, io));
  return examples(command, [
    ["The sluice dev on this machine", "sluice doctor"],
    [
      "A collector on another machine",
      "sluice doctor --url https://events.example.com --token … --write-key …",
    ],
  ]);
}

async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const checks: Check[] = [
    checkNode(process.versions.node),
    await checkDisk(resolve(io.cwd, options.dataDir ?? DEV_DATA_DIR)),
  ];
  const url = await collectorUrl(options, io);
  const address = await checkAddress(url);
  checks.push(address);
  if (address.result === "ok") {
    checks.push(...(await checkCollector(options, url, io)));
    checks.push(await checkWriteKey(options, url, io));
  }
  const problems = checks.filter(({ result }) => result === "problem").length;
  if (options.json) await io.out(`${terminalJson({ url, checks })}\n`);
  else await io.out(checks.map((check) => checkLine(check, io)).join(""));
  if (problems > 0) throw new CommandFailure("partly", `${plural(problems, "problem", "problems")} found`);
}
