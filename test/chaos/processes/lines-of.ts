import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

/** Calls `take` for each line that a process prints. Resolves when it has ended and its output is read to the end. */
export function readToEnd(child: ChildProcess, take: (line: string) => void): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new TypeError("The process has no pipe for its output");
  const reader = createInterface({ input: stdout });
  reader.on("line", take);
  const read = new Promise<void>((done) => reader.once("close", done));
  return new Promise((resolve) => {
    child.once("close", (code, signal) => void read.then(() => resolve(String(signal ?? code))));
  });
}
