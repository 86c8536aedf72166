import type { LogEntry, ReplicatedLog } from "../engine.js";

/** The entries after `after` up to the present end of the log. Rejects as the engine does. */
export async function readToEnd(log: ReplicatedLog, after: number, signal: AbortSignal): Promise<LogEntry[]> {
  const { last } = await log.bounds();
  const entries: LogEntry[] = [];
  if (last <= after) return entries;
  for await (const entry of log.read(after, signal)) {
    entries.push(entry);
    if (entry.sequence >= last) break;
  }
  return entries;
}
