/**
 * The names of the spool's files. A batch's number is its place in the order of all batches.
 *
 *     000000000042.jsonl               the batch waits
 *     000000000042.jsonl.<pid>.taken   the process <pid> is sending it
 *     <random>.draft                   a batch that is being written
 */
const WAITING = /^(\d{12})\.jsonl$/;
const TAKEN = /^((\d{12})\.jsonl)\.(\d+)\.taken$/;
const DRAFT = ".draft";

export function isWaiting(file: string): boolean {
  return WAITING.test(file);
}

export function isDraft(file: string): boolean {
  return file.endsWith(DRAFT);
}

export function waitingFile(number: number): string {
  return `${String(number).padStart(12, "0")}.jsonl`;
}

export function takenFile(waiting: string): string {
  return `${waiting}.${process.pid}.taken`;
}

export function draftFile(random: string): string {
  return `${random}${DRAFT}`;
}

/** The number in the name of a waiting or taken file. 0 for other names. */
export function numberOf(file: string): number {
  return Number(WAITING.exec(file)?.[1] ?? TAKEN.exec(file)?.[2] ?? 0);
}

/** The name that a taken file has when it waits, if its process has ended or is this one. Undefined for other files. */
export function releasableName(file: string): string | undefined {
  const [, waiting, , pid] = TAKEN.exec(file) ?? [];
  if (waiting === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) return undefined;
  return waiting;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
