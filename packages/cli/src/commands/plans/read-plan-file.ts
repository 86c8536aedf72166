import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isPlainObject, PLAN_LIMITS, type Plan, readPlan } from "@sluice/protocol";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";

export interface PlanFile {
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
