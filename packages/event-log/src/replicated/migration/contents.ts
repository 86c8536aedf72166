import { createHash, type Hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { checkRow, decodeRow, type LogRow } from "../../sqlite/calls/log-row.js";

/** How much there is of something, and a digest over all of it. */
export interface Counted {
  readonly count: number;
  /** The first 16 hexadecimal digits of a SHA-256. */
  readonly checksum: string;
}

/** What a store contains, by what it is. Equal contents have equal counts and checksums. */
export type Contents = { readonly [what in ContentName]: Counted };

export type ContentName = (typeof PARTS)[number]["name"];

interface Part {
  readonly name: string;
  readonly of: "store" | "profiles";
  readonly queries: readonly string[];
  /** How many of it a row stands for. Default: 1. */
  readonly count?: (row: object) => number;
}

const PARTS = [
  {
    name: "messages",
    of: "store",
    queries: ["SELECT first, meta, body FROM log_rows ORDER BY first"],
    count: messagesIn,
  },
  { name: "sources", of: "store", queries: ["SELECT no, id FROM sources ORDER BY no"] },
  { name: "consumers", of: "store", queries: ["SELECT no, id, cursor, range FROM consumers ORDER BY no"] },
  {
    name: "retries",
    of: "store",
    queries: [
      `SELECT consumer, offset, due_ms, put_ms, rounds, first_ms, reason, urls, replay FROM retries
       ORDER BY consumer, offset`,
    ],
  },
  {
    name: "delivery records",
    of: "store",
    queries: [
      "SELECT no, consumer, stream, base, min, max, mask, data FROM chunks ORDER BY no",
      "SELECT consumer, offset, state, reason, at_ms FROM late_outcomes ORDER BY consumer, offset",
      "SELECT no, consumer, offset, data FROM late_attempts ORDER BY no",
      "SELECT no, text FROM strings ORDER BY no",
    ],
  },
  {
    name: "documents",
    of: "store",
    queries: ["SELECT no, kind, id, version, json FROM documents ORDER BY no"],
  },
  {
    name: "rejections",
    of: "store",
    queries: ["SELECT no, source, at_ms, message_id, json FROM rejections ORDER BY no"],
  },
  {
    name: "usage",
    of: "store",
    queries: ["SELECT source, day, accepted, filtered, delivered FROM usage ORDER BY source, day"],
  },
  {
    name: "profiles",
    of: "profiles",
    queries: ["SELECT number, due, body, first, last FROM profiles ORDER BY number"],
  },
  {
    name: "identities",
    of: "profiles",
    queries: ["SELECT identity, profile FROM identities ORDER BY identity"],
  },
  {
    name: "memberships",
    of: "profiles",
    queries: [
      "SELECT definition, profile, since FROM members ORDER BY definition, profile",
      "SELECT definition, profile FROM held ORDER BY definition, profile",
    ],
  },
  {
    name: "audience state",
    of: "profiles",
    queries: [
      "SELECT seq, profile, destinations, message FROM owed ORDER BY seq",
      "SELECT name, json FROM documents ORDER BY name",
      "SELECT cursor FROM progress",
    ],
  },
] as const satisfies readonly Part[];

export interface StoreDatabases {
  readonly store: DatabaseSync;
  /** Undefined: no audience was ever defined. */
  readonly profiles: DatabaseSync | undefined;
}

export const CONTENT_NAMES: readonly ContentName[] = PARTS.map(({ name }) => name);

/** The names of what differs. */
export function differences(one: Contents, other: Contents): ContentName[] {
  return CONTENT_NAMES.filter((name) => {
    const [a, b] = [one[name], other[name]];
    return a.count !== b.count || a.checksum !== b.checksum;
  });
}

/** Rows that are read between two turns of the event loop. */
const ROWS_A_TURN = 256;

/** Reads everything in the databases. Throws if a row of the log is damaged, or when `signal` aborts. */
export async function contentsOf(databases: StoreDatabases, signal: AbortSignal): Promise<Contents> {
  const counted: [ContentName, Counted][] = [];
  for (const part of PARTS) counted.push([part.name, await countPart(databases[part.of], part, signal)]);
  return Object.fromEntries(counted) as Contents;
}

async function countPart(
  database: DatabaseSync | undefined,
  { queries, count: weigh = () => 1 }: Part,
  signal: AbortSignal,
): Promise<Counted> {
  const hash = createHash("sha256");
  let count = 0;
  let rows = 0;
  for (const [index, sql] of queries.entries()) {
    hash.update(`${index}\n`);
    for (const row of database?.prepare(sql).iterate() ?? []) {
      addRow(hash, row);
      count += weigh(row);
      rows += 1;
      if (rows % ROWS_A_TURN === 0) await setImmediate();
      signal.throwIfAborted();
    }
  }
  return { count, checksum: hash.digest("hex").slice(0, 16) };
}

/** Each value with its type and length, so that no two rows give the same bytes. */
function addRow(hash: Hash, row: object): void {
  for (const value of Object.values(row)) {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value));
    const type = value instanceof Uint8Array ? "bytes" : value === null ? "null" : typeof value;
    hash.update(`${type} ${bytes.byteLength}\n`);
    hash.update(bytes);
  }
}

function messagesIn(row: object): number {
  checkRow(row as LogRow);
  return decodeRow(row as LogRow).reduce(
    (sum, { itemCount, skipped }) => sum + itemCount - skipped.length,
    0,
  );
}
