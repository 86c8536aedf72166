/** Loads of `scale-out.bench.mjs`, and the CPU that processes use for them. */
import { cpuSecondsOf, untilQuiet } from "./process-cpu.mjs";
import { runLoad } from "./run-load.mjs";

/** Messages of a batch. */
export const EVENTS = 100;
const IDLE_MS = 2_000;

/** Runs a load, and resolves with its result and the CPU of each kind of process for a message, in microseconds. */
export async function withCpu(kinds, run) {
  const all = Object.values(kinds).flat();
  const now = () => ({
    atMs: performance.now(),
    seconds: Object.values(kinds).map((processes) => cpuSecondsOf(processes)),
  });
  await untilQuiet(all);
  const idle = now();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const before = now();
  const result = await run();
  await untilQuiet(all);
  const after = now();
  // What they use without any messages does not belong to a message.
  const share = (after.atMs - before.atMs) / (before.atMs - idle.atMs);
  const cpu = Object.keys(kinds).map((kind, at) => {
    const used = after.seconds[at] - before.seconds[at] - (before.seconds[at] - idle.seconds[at]) * share;
    return [kind, (Math.max(0, used) * 1e6) / result.messages];
  });
  return { ...result, cpu: { client: result.clientMicros, ...Object.fromEntries(cpu) } };
}

/** As many messages as are answered, to one process. */
export async function accept({ port }, writeKey, seconds, connections = 16) {
  const load = await runLoad({ port, writeKey, events: EVENTS, connections, seconds });
  return {
    messages: load.sent * EVENTS,
    perSecond: load.eventsPerSecond,
    clientMicros: load.cpuMicrosPerEvent,
  };
}
