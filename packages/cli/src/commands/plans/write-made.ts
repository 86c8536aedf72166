import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, Finding } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";

export interface Made {
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
