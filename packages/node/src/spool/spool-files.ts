/**
 * The names of the spool's files. A batch's number is its place in the order of all batches.
 *
 *     000000000042.jsonl                            the batch waits
 *     000000000042.jsonl.<host>-<boot>-<id>.taken   a holder is sending it
 *     <boot>-<id>.sock                              the holder's socket: it answers while the holder's process runs
 *     <random>.draft                                a batch that is being written
 */
const WAITING = /^(\d{12})\.jsonl$/;
const TAKEN = /^((\d{12})\.jsonl)\.([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-f]{12})\.taken$/;
const SOCKET = /^([0-9a-f]{6})-[0-9a-f]{12}\.sock$/;
const DRAFT = ".draft";

/** Who has taken a file. No two spools have the same `id`, not even two of one process. */
export interface HolderName {
  /** A digest of the machine's or container's host name. */
  readonly host: string;
  /** A digest that all processes share that run on one machine, in whichever container, until it reboots. */
  readonly boot: string;
  readonly id: string;
}

export function isWaiting(file: string): boolean {
  return WAITING.test(file);
}

export function isDraft(file: string): boolean {
  return file.endsWith(DRAFT);
}

export function waitingFile(number: number): string {
  return `${String(number).padStart(12, "0")}.jsonl`;
}

export function takenFile(waiting: string, { host, boot, id }: HolderName): string {
  return `${waiting}.${host}-${boot}-${id}.taken`;
}

export function socketFile({ boot, id }: Omit<HolderName, "host">): string {
  return `${boot}-${id}.sock`;
}

/** The `boot` of a socket's holder. Undefined for other files. */
export function bootOfSocket(file: string): string | undefined {
  return SOCKET.exec(file)?.[1];
}

export function draftFile(random: string): string {
  return `${random}${DRAFT}`;
}

/** The number in the name of a waiting or taken file. 0 for other names. */
export function numberOf(file: string): number {
  return Number(WAITING.exec(file)?.[1] ?? TAKEN.exec(file)?.[2] ?? 0);
}

export interface TakenFile {
  /** The name that the file has when it waits. */
  readonly waiting: string;
  readonly holder: HolderName;
}

/** Undefined for files that are not taken. */
export function takenBy(file: string): TakenFile | undefined {
  const [, waiting, , host = "", boot = "", id = ""] = TAKEN.exec(file) ?? [];
  return waiting === undefined ? undefined : { waiting, holder: { host, boot, id } };
}
