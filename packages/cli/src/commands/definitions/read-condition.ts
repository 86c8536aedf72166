import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Condition, validateCondition } from "@sluice/protocol";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";

/** Parses and validates a condition that is given as JSON, or as `@` and the name of a file with JSON. */
export async function readCondition(given: string, io: Io): Promise<Condition> {
  const text = given.startsWith("@") ? await readFile(resolve(io.cwd, given.slice(1)), "utf8") : given;
  let condition: unknown;
  try {
    condition = JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(
      "usage",
      `The condition is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
      "Put the JSON in single quotes, or give @FILE",
    );
  }
  const [issue] = validateCondition(condition);
  if (issue !== undefined) throw new CommandFailure("usage", `${issue.path}: ${issue.message}`);
  return condition as Condition;
}
