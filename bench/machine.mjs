import { cpus, loadavg, totalmem } from "node:os";

/** Why a measurement now would not be worth keeping, or undefined. */
export function busyReason([load] = loadavg(), cores = cpus().length) {
  if (load <= cores / 2) return undefined;
  return `The machine is busy: a load of ${load.toFixed(1)} on ${cores} cores (at most ${cores / 2})`;
}

/** The machine in one line. */
export function describeMachine() {
  const [{ model }] = cpus();
  return `${cpus().length} cores (${model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB of memory, ${process.platform} ${process.arch}`;
}
