import { isPlainObject } from "@sluice/protocol";
import type { FileRecord } from "./read-records.js";

export interface RecordCount {
  /** Records that are JSON objects or rows with the right number of fields. */
  readonly messages: number;
  /** Of these, the ones whose `integrations` ask for a destination by name. */
  readonly naming: number;
  /** The count stopped at the limit: there are more. */
  readonly isMore: boolean;
}

/** Counting reads the whole file once more, so it ends here: a few seconds. */
export const MAX_COUNTED = 1_000_000;

/** Counts the messages of a file after a line, to say what an import will do. */
export async function countRecords(
  records: AsyncIterable<FileRecord>,
  { afterLine, signal, limit = MAX_COUNTED }: { afterLine: number; signal: AbortSignal; limit?: number },
): Promise<RecordCount> {
  let messages = 0;
  let naming = 0;
  for await (const { line, value } of records) {
    if (signal.aborted) break;
    if (line <= afterLine || !value.ok) continue;
    if (messages === limit) return { messages, naming, isMore: true };
    messages += 1;
    if (namesDestination(value.message)) naming += 1;
  }
  return { messages, naming, isMore: false };
}

/** Whether a message's `integrations` ask for a destination by name. `All` names none. */
export function namesDestination(message: unknown): boolean {
  if (!isPlainObject(message) || !isPlainObject(message.integrations)) return false;
  return Object.entries(message.integrations).some(([name, value]) => name !== "All" && value !== false);
}
