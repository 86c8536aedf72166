import { cpus, loadavg, totalmem } from "node:os";

/** Why a measurement now would not be worth keeping, or undefined. */
export function busyReason([load] = loadavg(), cores = cpus().length) {
  if (load <= cores / 2) return undefined;
  return `The machine is busy: a load of ${load.toFixed(1)} on ${cores} cores (at most ${cores / 2})`;
}

const SPIN_MICROS = 50_000;

/** How many times longer than its CPU time a busy loop takes: 1 on an idle machine, 2 if it gets half of a core. */
export function contention() {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  let used = 0;
  while (used < SPIN_MICROS) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  return ((performance.now() - startedMs) * 1_000) / used;
}

/** The machine in one line. */
export function describeMachine() {
  const [{ model }] = cpus();
  return `${cpus().length} cores (${model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB of memory, ${process.platform} ${process.arch}`;
}
