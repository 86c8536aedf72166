import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

/** CPU seconds that processes have used so far, from the kernel. */
export function cpuSecondsOf(processes) {
  const ticks = processes.map(({ pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/** Idle processes of a cluster use a few percent of a core. */
const QUIET_CORES = 0.2;

/** Resolves when the processes have nothing left to do. */
export async function untilQuiet(processes) {
  for (let before = cpuSecondsOf(processes); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = cpuSecondsOf(processes);
    if (now - before < QUIET_CORES) return;
    before = now;
  }
}

/** CPU seconds that each thread of a process has used so far, by the thread's number. */
export function threadSecondsOf({ pid }) {
  const seconds = new Map();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const fields = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8").split(") ")[1].split(" ");
    seconds.set(thread, (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND);
  }
  return seconds;
}
