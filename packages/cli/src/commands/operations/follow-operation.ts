import type { AdminClient } from "@sluice/admin-client";
import type { OperationView } from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import { hasEnded, progressText } from "./operation-text.js";

const ASK_EVERY_MS = 500;

/**
 * Follows an operation to its end, with a progress line on a terminal. Ctrl-C stops following; the operation goes on. Resolves with the
 * operation as it is then.
 */
export async function followOperation(
  client: AdminClient,
  started: OperationView,
  io: Io,
): Promise<OperationView> {
  let operation = started;
  while (!hasEnded(operation) && !io.interrupted.aborted) {
    if (io.isErrTerminal) io.err(`\r${progressText(operation)}\u001b[K`);
    await pause(io.interrupted);
    operation = await client.operations.get(started.id);
  }
  if (io.isErrTerminal) io.err("\r\u001b[K");
  return operation;
}

/** Ends early on Ctrl-C. */
function pause(interrupted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      interrupted.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ASK_EVERY_MS);
    interrupted.addEventListener("abort", end);
  });
}
