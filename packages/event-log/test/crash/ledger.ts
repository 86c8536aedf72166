import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "@sluice/resilience";
import { expect } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch } from "../batches.js";
import type { ChildOptions } from "./store-child.js";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./store-child.ts", import.meta.url));

/** The store's answers to all processes, across their crashes. */
export class Ledger {
  readonly acknowledged = new Set<string>();
  readonly refused = new Set<string>();
  /** The last offset whose settlement was acknowledged. */
  settledUpTo = -1;

  note(line: string): void {
    const [kind, ...words] = line.split(" ");
    if (kind === "a") for (const id of words) this.acknowledged.add(id);
    else if (kind === "r") for (const id of words) this.refused.add(id);
    else if (kind === "c") this.settledUpTo = Math.max(this.settledUpTo, Number(words[0]));
  }
}

export interface Child {
  /** Signals the process itself, not the command it runs under. The process must have reported that it is open. */
  kill(signal: NodeJS.Signals): void;
  readonly ledger: Ledger;
  readonly lines: readonly string[];
  /** Resolves when the process has written a line for which `isIt` holds. Rejects if the process ends first. */
  said(isIt: (line: string) => boolean): Promise<void>;
  /** Resolves when the process has ended and all of its output is recorded. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts a process that uses the store. `under`: a command with arguments that runs it, such as strace. */
export function startChild(options: ChildOptions, ledger: Ledger, under: readonly string[] = []): Child {
  const [command = "", ...args] = [
    ...under,
    process.execPath,
    "--no-warnings",
    "--import",
    LOADER,
    CHILD,
    JSON.stringify(options),
  ];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const waiting: { isIt: (line: string) => boolean; done: () => void; failed: (error: Error) => void }[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    ledger.note(line);
    for (const entry of waiting.splice(0)) {
      if (entry.isIt(line)) entry.done();
      else waiting.push(entry);
    }
  });
  const read = new Promise<void>((done) => reader.once("close", done));
  const ended = new Promise<{ code: number | null; signal: string | null }>((done) => {
    child.once("close", (code, signal) => {
      void read.then(() => {
        done({ code, signal });
        for (const { failed } of waiting) failed(new Error(`the process ended: ${code ?? signal}`));
      });
    });
  });
  return {
    kill(signal) {
      const opened = lines.find((line) => line.startsWith("opened "));
      if (opened !== undefined) process.kill(Number(opened.split(" ")[1]), signal);
    },
    ledger,
    lines,
    ended,
    said: (isIt) =>
      lines.some(isIt)
        ? Promise.resolve()
        : new Promise((done, failed) => waiting.push({ isIt, done, failed })),
  };
}

export interface Findings {
  readonly stored: number;
  readonly lost: readonly string[];
  /** Stored more than once. */
  readonly twice: readonly string[];
  /** Refused, but stored. */
  readonly keptThoughRefused: readonly string[];
}

/** Opens a store after a crash and compares it with the ledger. */
export async function examine(directory: string, ledger: Ledger): Promise<Findings> {
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    const stored = new Set<string>();
    const twice: string[] = [];
    let after: Offset = BEFORE_FIRST;
    for (;;) {
      const batches = await store.log.read(after, { messages: 10_000, bytes: 8 << 20 });
      if (batches.length === 0) break;
      for (const message of batches.flatMap(decodeBatch)) {
        expect(message.offset).toBeGreaterThan(after);
        after = message.offset;
        if (stored.has(message.messageId)) twice.push(message.messageId);
        stored.add(message.messageId);
      }
    }
    expect(store.log.head()).toBe(after);
    expect(store.stats().messages).toBe(stored.size);

    const lost = [...ledger.acknowledged].filter((id) => !stored.has(id));
    const keptThoughRefused = [...ledger.refused].filter((id) => stored.has(id));

    // If messages are gone, the other checks cannot succeed.
    if (lost.length > 0) return { stored: stored.size, lost, twice, keptThoughRefused };

    // The indexes agree with the log: a stored message is found, and is a duplicate when it is sent again.
    const all = [...stored];
    for (const ids of [all.slice(0, 300), all.slice(-300)]) {
      if (ids.length === 0) continue;
      expect((await store.log.append(idsBatch(ids))).duplicates).toHaveLength(ids.length);
    }
    for (const id of [all[0], all[all.length >> 1], all.at(-1)]) {
      if (id === undefined) continue;
      const { items } = await store.log.find({ messageId: id }, { limit: 2 });
      expect(items.map(({ messageId }) => messageId)).toEqual([id]);
    }

    // A consumer's cursor, outcomes and retries agree with each other: each message at or before it has one of them.
    const { cursor } = await store.consumers.open("dst_1", BEFORE_FIRST);
    expect(cursor).toBeGreaterThanOrEqual(ledger.settledUpTo);
    expect(cursor).toBeLessThanOrEqual(store.log.head());
    for (let offset = cursor; offset > cursor - 40 && offset >= 0; offset--) {
      const [delivery] = await store.consumers.outcomesOf(offset as Offset);
      expect(delivery?.state).toBe(offset % 5 === 4 ? "pending" : "delivered");
    }
    return { stored: stored.size, lost, twice, keptThoughRefused };
  } finally {
    await store.close();
  }
}

/** The result of `examine` for a sound store. */
export const SOUND = { lost: [], twice: [], keptThoughRefused: [] };
