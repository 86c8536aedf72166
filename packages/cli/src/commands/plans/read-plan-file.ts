import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isPlainObject, PLAN_LIMITS, type Plan, readPlan } from "@sluice/protocol";
import { CommandFailure, Finding } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/terminal-text.js";

interface Made {
  readonly text: string;
  readonly out: string | undefined;
  /** Write nothing, and fail if the file is another. */
  readonly check: boolean | undefined;
  readonly json: boolean | undefined;
  /** The words of the command that makes it again. */
  readonly again: readonly string[];
  /** The field of the text in JSON. */
  readonly key: string;
}

/** Prints what was made of a plan, or writes it to a file. */
export async function writeMade({ text, out, check, json, again, key }: Made, io: Io): Promise<void> {
  if (out === undefined) {
    await show(io, json, { [key]: text }, () => text);
    return;
  }
  const file = resolve(io.cwd, out);
  const isCurrent = (await readFile(file, "utf8").catch(() => undefined)) === text;
  if (check && !isCurrent) throw new Finding("partly", `${out} is not up to date`, `Run ${again.join(" ")}`);
  if (!isCurrent)
    await writeFile(file, text).catch((error: Error) => {
      throw new CommandFailure("failed", `${out} cannot be written: ${error.message}`);
    });
  await show(io, json, { file: out, isChanged: !isCurrent }, () =>
    isCurrent ? `${out} is up to date\n` : `wrote ${out}\n`,
  );
}

interface PlanFile {
  readonly json: { readonly [field: string]: unknown };
  readonly plan: Plan;
}

/** Reads a tracking plan. Fails with every mistake in it, each with its place. */
export async function readPlanFile(given: string, io: Io): Promise<PlanFile> {
  const json = await readJson(given, io);
  const reading = readPlan(json);
  if (reading.kind === "invalid") {
    const lines = reading.issues.map(({ path, message }) => `${path === "" ? given : path}: ${message}`);
    throw new CommandFailure("usage", `${given} is not a tracking plan\n  ${lines.join("\n  ")}`);
  }
  return { json: isPlainObject(json) ? json : {}, plan: reading.plan };
}

async function readJson(given: string, io: Io): Promise<unknown> {
  try {
    const text = await readFile(resolve(io.cwd, given), "utf8");
    if (Buffer.byteLength(text) > 4 * PLAN_LIMITS.bytes) throw new Error("it is too large");
    return JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `${given} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
