import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Ends a process without a chance to write anything. Resolves when it has ended. */
export async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
