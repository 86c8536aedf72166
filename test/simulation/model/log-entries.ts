import type { History } from "../actors/history.js";

/**
 * The entries of a cluster's log as they stand in it: "SLC" and a version, the length of the head, the head as JSON, then the arrays of all
 * calls, each at a multiple of 8. It asks nothing of the product.
 */
export interface Entry {
  readonly session: string;
  readonly number: number;
  readonly calls: readonly EntryCall[];
}

export interface EntryCall {
  readonly operation: string;
  readonly request: Readonly<Record<string, unknown>>;
}

interface Head {
  readonly session: string;
  readonly number: number;
  readonly calls: readonly (EntryCall & { readonly arrays?: readonly [string, string, number][] })[];
}

/** When the bytes that hold a message were stored. Undefined: they never were. */
export function storedAtMs({ written }: Pick<History, "written">, messageId: string): number | undefined {
  return written.find(({ text }) => text.includes(messageId) && text.includes(`"${messageId}"`))?.atMs;
}

const HEAD_AT = 8;

export function readEntry(data: Uint8Array): Entry {
  const bytes = Buffer.from(data);
  if (bytes.toString("latin1", 0, 4) !== "SLC\u0001") throw new Error("The log has an entry of another kind");
  const headEnd = HEAD_AT + bytes.readUInt32LE(4);
  const head = JSON.parse(bytes.toString("utf8", HEAD_AT, headEnd)) as Head;
  let at = aligned(headEnd);
  const calls = head.calls.map(({ operation, request, arrays = [] }) => {
    const fields: Record<string, unknown> = { ...request };
    for (const [name, kind, length] of arrays) {
      if (kind === "f64") fields[name] = numbersIn(bytes.subarray(at, at + length));
      at = aligned(at + length);
    }
    return { operation, request: fields };
  });
  return { session: head.session, number: head.number, calls };
}

function aligned(length: number): number {
  return Math.ceil(length / 8) * 8;
}

function numbersIn(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 8 }, (_, place) => bytes.readDoubleLE(place * 8));
}

/** The outcomes that a `settle` carries: four numbers each. */
export function outcomesIn({ request }: EntryCall): { readonly offset: number; readonly state: string }[] {
  const numbers = request.outcomes as readonly number[];
  return Array.from({ length: numbers.length / 4 }, (_, place) => ({
    offset: numbers[place * 4] ?? 0,
    state: STATES[numbers[place * 4 + 1] ?? 0] ?? "",
  }));
}

const STATES = ["delivered", "failed", "filtered", "skipped", "suppressed", "discarded"];
