import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure } from "../../../failures/exit-codes.js";
import type { Io } from "../../../terminal/io.js";
import { terminalText } from "../../../terminal/terminal-text.js";
import { CONTENTS } from "./report.js";

/** `given`: the value of `--report`; true without one. */
export function reportFile(given: string | true, io: Io): string {
  return given === true
    ? `sluice-report-${new Date(io.now()).toISOString().replace(/[:.]/g, "-")}.json`
    : given;
}

/** Writes the report for its owner alone. A file that exists is kept. */
export async function writeReport(report: object, file: string, io: Io): Promise<void> {
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
export function reportSummary(file: string): string {
  const width = Math.max(...CONTENTS.map(([name]) => name.length));
  return [
    `\nReport written to ${terminalText(file)}. It contains:`,
    ...CONTENTS.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`),
    "It has no messages, user ids, names, URLs, paths, tokens or keys, and no log lines.",
    "Read it before you send it to anybody.",
    "",
  ].join("\n");
}
