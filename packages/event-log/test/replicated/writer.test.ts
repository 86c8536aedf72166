import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { EntriesTrimmed, type LogAppend, type LogEntry } from "../../src/replicated/engine.js";
import { Writer } from "../../src/replicated/writer/writer.js";
import { NOTHING_APPLIED } from "../../src/sqlite/calls/applied.js";
import type { CallAnswer } from "../../src/sqlite/calls/operations.js";
import { encodeCall } from "../../src/sqlite/replica/call-codec.js";
import { decodeEntry, encodeEntry } from "../../src/sqlite/replica/entry.js";

interface Append {
  /** The names of the entry's calls. */
  readonly calls: readonly string[];
  readonly data: Uint8Array<ArrayBuffer>;
  readonly number: number;
  readonly expected: number;
  answer(answer: LogAppend): Promise<void>;
  fail(): Promise<void>;
}

interface Apply {
  readonly sequence: number;
  readonly isAnswered: boolean;
  answer(...answers: CallAnswer[]): Promise<void>;
  fail(error: unknown): Promise<void>;
}

const SESSION = "own";
const appended = (sequence: number): LogAppend => ({ kind: "appended", sequence });
const refused = (last: number | undefined): LogAppend => ({ kind: "refused", last });
const UNKNOWN: LogAppend = { kind: "unknown", reason: "no answer" };
const done = (answer: unknown): CallAnswer => ({ kind: "done", answer });

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets everything happen that follows. */
async function after(settle: () => void): Promise<void> {
  settle();
  await turns();
}

function callNames(data: Uint8Array<ArrayBuffer>): string[] {
  return decodeEntry(data).calls.map(({ operation }) => operation);
}

/** An entry of another session. */
function foreign(sequence: number, operation: string): LogEntry {
  const call = encodeCall({ operation, request: {} });
  return { sequence, data: encodeEntry({ session: "other", number: 1 }, [call]) };
}

/** A writer over a log and a copy whose answers the test gives. */
function writing(maxEntryBytes = 1_000_000) {
  const clock = manualClock({ startMs: 0 });
  const appends: Append[] = [];
  const applies: Apply[] = [];
  const ended: string[] = [];
  /** What the log has when it is read. Or the error with which reading it fails. */
  const log = {
    entries: [] as LogEntry[],
    error: undefined as Error | undefined,
    reads: 0,
    /** Reading takes until it resolves. */
    opened: Promise.resolve(),
  };
  const writer = new Writer({
    log: {
      maxEntryBytes,
      append: (data, expected) =>
        new Promise((resolve, reject) => {
          const copy = Uint8Array.from(data);
          appends.push({
            ...{ calls: callNames(copy), data: copy, number: decodeEntry(copy).number, expected },
            answer: (answer) => after(() => resolve(answer)),
            fail: () => after(() => reject(new Error("cut off"))),
          });
        }),
      async bounds() {
        log.reads += 1;
        await log.opened;
        if (log.error !== undefined) throw log.error;
        return { first: 1, last: log.entries.at(-1)?.sequence ?? 0 };
      },
      async *read(after, signal) {
        yield* log.entries.filter(({ sequence }) => sequence > after);
        // Waits for more, as the log does.
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      async trim() {},
    },
    ...{ clock, session: SESSION, last: 0, number: 0 },
    apply: (sequence, _data, isAnswered) =>
      new Promise((resolve, reject) => {
        applies.push({
          ...{ sequence, isAnswered },
          answer: (...answers) => after(() => resolve({ applied: NOTHING_APPLIED, answers })),
          fail: (error) => after(() => reject(error)),
        });
      }),
    onEnded: (reason) => ended.push(reason),
  });
  /** What became of each call: its answer, or its error. */
  const results: Record<string, unknown> = {};
  const add = async (...operations: string[]): Promise<void> => {
    for (const operation of operations) {
      writer.add({ operation, request: {} }).then(
        (answer) => {
          results[operation] = answer;
        },
        (error: Error) => {
          results[operation] = error.message;
        },
      );
    }
    await turns();
  };
  const called = () => appends.map(({ calls, expected }) => `${calls.join(" ")} after ${expected}`);
  const applied = () => applies.map(({ sequence, isAnswered }) => (isAnswered ? sequence : `(${sequence})`));
  return { writer, clock, log, appends, applies, ended, results, add, called, applied };
}

describe("a call", () => {
  it("shares an entry with those of its turn, and is answered when log and copy have it", async () => {
    const { writer, appends, applies, results, add, called, applied } = writing();
    expect(writer.answered).toBeUndefined();
    await add("a", "b", "c");
    expect(called()).toEqual(["a b c after 0"]);
    await appends[0]?.answer(appended(1));
    expect([applied(), results]).toEqual([[1], {}]);
    let isAnswered = false;
    void writer.answered?.then(() => {
      isAnswered = true;
    });
    await turns();
    expect(isAnswered).toBe(false);
    await applies[0]?.answer(done(7), {
      kind: "refused",
      code: "conflict",
      detail: "old",
      current: { kind: "source", id: "s", version: 3 },
    });
    expect(results).toEqual({
      a: 7,
      b: expect.stringContaining("old"),
      c: expect.stringContaining("not known whether the call was kept"),
    });
    expect([isAnswered, writer.answered]).toEqual([true, undefined]);
  });

  it("of its own goes into an entry of its own", async () => {
    const { writer, add, called } = writing();
    void writer.add({ operation: "alone", request: {} }, true);
    await add("a");
    expect(called()).toEqual(["alone after 0", "a after 1"]);
  });

  it("that is too large goes into several entries, and is answered with the last", async () => {
    const { writer, appends, applies } = writing(2_000);
    const answer = writer.add({ operation: "large", request: { bytes: new Uint8Array(2_500) } });
    await turns();
    expect(appends.map(({ calls }) => calls)).toEqual([["part"], ["part"]]);
    for (const [at, append] of appends.entries()) await append.answer(appended(at + 1));
    await applies[0]?.answer(done(undefined));
    await applies[1]?.answer(done("whole"));
    expect(await answer).toBe("whole");
  });

  it("that is too large is rejected as a whole", async () => {
    const { writer } = writing(2_000);
    const answer = writer.add({ operation: "large", request: { bytes: new Uint8Array(2_500) } });
    writer.end("lost");
    await expect(answer).rejects.toThrow("lost");
  });
});

describe("entries under way", () => {
  it("are three at most, each behind the one before it; later calls share the next", async () => {
    const { appends, add, called } = writing();
    for (const name of ["a", "b", "c", "d", "e"]) await add(name);
    expect(called()).toEqual(["a after 0", "b after 1", "c after 2"]);
    await appends[0]?.answer(appended(1));
    expect(called().slice(3)).toEqual(["d e after 3"]);
    expect(appends.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  });

  it("reach the copy in their order, whatever the order of the answers", async () => {
    const { appends, add, applied } = writing();
    await add("a");
    await add("b");
    await appends[1]?.answer(appended(2));
    expect(applied()).toEqual([]);
    await appends[0]?.answer(appended(1));
    expect(applied()).toEqual([1, 2]);
  });

  it.each<[name: string, answer: (append: Append | undefined) => unknown]>([
    ["had no answer", (append) => append?.answer(UNKNOWN)],
    ["was cut off", (append) => append?.fail()],
  ])("are repeated 100 ms after one %s, byte by byte", async (_name, answer) => {
    const { clock, log, appends, add, called } = writing();
    await add("a");
    await answer(appends[0]);
    await clock.advance(99);
    expect(called()).toEqual(["a after 0"]);
    await clock.advance(1);
    await turns();
    expect(called()).toEqual(["a after 0", "a after 0"]);
    expect(appends[1]?.data).toEqual(appends[0]?.data);
    expect(log.reads).toBe(0);
  });

  it("are repeated at once if they only came before the one before them", async () => {
    const { log, appends, add, called } = writing();
    await add("a");
    await add("b");
    await appends[1]?.answer(refused(0));
    await appends[0]?.answer(appended(1));
    expect([log.reads, called().slice(2)]).toEqual([0, ["b after 1"]]);
  });

  it("end with the writer if the log has no room", async () => {
    const { appends, ended, results, add } = writing();
    await add("a");
    await add("b");
    await appends[0]?.answer({ kind: "impossible", reason: "full" });
    expect(ended).toEqual(["the log has no room: full"]);
    expect(results).toEqual({ a: expect.stringContaining("full"), b: expect.stringContaining("full") });
    await appends[1]?.answer(appended(2));
    await add("c");
    expect(results).toMatchObject({ c: expect.stringContaining("full") });
    expect(appends).toHaveLength(2);
  });

  it("end with the writer if the copy fails", async () => {
    const { appends, applies, ended, results, add } = writing();
    await add("a");
    await add("b");
    for (const [at, append] of appends.entries()) await append.answer(appended(at + 1));
    await applies[0]?.fail(new Error("disk"));
    await applies[1]?.fail("disk");
    expect(ended).toEqual(["the local copy failed: disk"]);
    expect(Object.values(results)).toEqual([
      expect.stringContaining("the local copy failed: disk"),
      expect.stringContaining("the local copy failed: disk"),
    ]);
  });
});

describe("something else at an entry's place", () => {
  it("takes the place if copies ignore it, and the entries move behind it", async () => {
    const { log, appends, add, called, applied } = writing();
    await add("a");
    await add("b");
    log.entries = [foreign(1, "append")];
    await appends[1]?.answer(refused(1));
    await appends[0]?.answer(refused(1));
    expect(applied()).toEqual(["(1)"]);
    expect(called().slice(2)).toEqual(["a after 1", "b after 2"]);
    await appends[2]?.answer(appended(2));
    await appends[3]?.answer(appended(3));
    expect(applied()).toEqual(["(1)", 2, 3]);
  });

  it("lets a later entry in before the one before it, which copies ignore: both move behind it", async () => {
    const { log, appends, add, called, applied } = writing();
    await add("a");
    await add("b");
    log.entries = [foreign(1, "append"), { sequence: 2, data: appends[1]?.data ?? new Uint8Array() }];
    await appends[1]?.answer(appended(2));
    await appends[0]?.answer(refused(2));
    expect(applied()).toEqual(["(1)", "(2)"]);
    expect(called().slice(2)).toEqual(["a after 2", "b after 3"]);
  });

  it("may be nothing yet: the entry is appended again", async () => {
    const { log, appends, add, called } = writing();
    await add("a");
    await appends[0]?.answer(refused(undefined));
    expect([log.reads, called()]).toEqual([1, ["a after 0", "a after 0"]]);
  });

  it("may be the entry itself, whose answer got lost", async () => {
    const { log, appends, add, called, applied } = writing();
    await add("a");
    log.entries = [{ sequence: 1, data: appends[0]?.data ?? new Uint8Array() }];
    await appends[0]?.answer(refused(1));
    expect([applied(), called()]).toEqual([[1], ["a after 0"]]);
    await add("b");
    expect(called()[1]).toBe("b after 1");
  });

  it("ends the writer if another process took over, and nothing behind it is applied", async () => {
    const { log, appends, ended, results, add, applied } = writing();
    await add("a");
    log.entries = [foreign(1, "takeover"), foreign(2, "append")];
    await appends[0]?.answer(refused(2));
    expect(ended).toEqual(["another process owns the log now"]);
    expect([applied(), results]).toEqual([[], { a: expect.stringContaining("another process owns") }]);
    expect(appends).toHaveLength(1);
  });

  it("ends the writer if it was trimmed: only another owner does that", async () => {
    const { log, appends, ended, add } = writing();
    await add("a");
    log.error = new EntriesTrimmed(5);
    await appends[0]?.answer(refused(7));
    expect(ended).toEqual(["another process owns the log now"]);
  });

  it("is looked at again 100 ms later if the log cannot be read", async () => {
    const { clock, log, appends, add, called, ended } = writing();
    await add("a");
    log.error = new Error("cut off");
    await appends[0]?.answer(refused(1));
    log.error = undefined;
    log.entries = [foreign(1, "append")];
    await clock.advance(99);
    await turns();
    expect(log.reads).toBe(1);
    await clock.advance(1);
    await turns();
    expect([called().slice(1), ended]).toEqual([["a after 1"], []]);
  });

  it("is not looked for until each entry under way has a known answer", async () => {
    const { clock, log, appends, add, called } = writing();
    await add("a");
    await add("b");
    await appends[0]?.answer(refused(1));
    await appends[1]?.answer(UNKNOWN);
    log.entries = [foreign(1, "append")];
    expect(log.reads).toBe(0);
    await clock.advance(100);
    await turns();
    expect(called().slice(2)).toEqual(["b after 1"]);
    await appends[2]?.answer(refused(1));
    expect([log.reads, called().slice(3)]).toEqual([1, ["a after 1", "b after 2"]]);
  });
});

describe("the end of the log", () => {
  it("is read by a writer without calls, so that it notices another owner", async () => {
    const { writer, log, ended, add, called, applied } = writing();
    await writer.sawEnd(0);
    expect(log.reads).toBe(0);
    log.entries = [foreign(1, "append")];
    await writer.sawEnd(1);
    expect([applied(), ended]).toEqual([["(1)"], []]);
    await add("a");
    expect(called()).toEqual(["a after 1"]);
  });

  it("ends a writer without calls if another process took over", async () => {
    const { writer, log, ended } = writing();
    log.entries = [foreign(1, "takeover")];
    await writer.sawEnd(1);
    expect(ended).toEqual(["another process owns the log now"]);
    await writer.sawEnd(2);
    expect(log.reads).toBe(1);
  });

  it("is left to the answers while calls are under way, and calls wait while it is read", async () => {
    const { writer, log, appends, add, called } = writing();
    await add("a");
    await writer.sawEnd(1);
    expect(log.reads).toBe(0);
    await appends[0]?.answer(appended(1));
    log.entries = [foreign(2, "append")];
    const { promise, resolve: open } = Promise.withResolvers<void>();
    log.opened = promise;
    const seen = writer.sawEnd(2);
    void writer.sawEnd(2);
    await add("b");
    expect(called()).toHaveLength(1);
    open();
    await seen;
    await turns();
    expect([log.reads, called()]).toEqual([1, ["a after 0", "b after 2"]]);
  });
});

describe("a writer that closes", () => {
  it("finishes calls of the same turn, too, and closes once", async () => {
    const { writer, appends, applies } = writing();
    const call = writer.add({ operation: "a", request: {} });
    expect(writer.answered).toBeDefined();
    let closed = 0;
    const closing = [writer.close(), writer.close()].map((end) => end.then(() => (closed += 1)));
    await turns();
    await appends[0]?.answer(appended(1));
    expect(closed).toBe(0);
    await applies[0]?.answer(done(1));
    expect(await call).toBe(1);
    await Promise.all(closing);
  });

  it("waits for no further try to read the log", async () => {
    const { writer, clock, log } = writing();
    log.error = new Error("cut off");
    const seen = writer.sawEnd(1);
    await turns();
    expect(clock.pending).toBe(1);
    await writer.close();
    await seen;
    expect(clock.pending).toBe(0);
  });

  it("finishes its calls and takes no more", async () => {
    const { writer, appends, applies, results, add } = writing();
    await add("a");
    let isClosed = false;
    const closed = writer.close().then(() => {
      isClosed = true;
    });
    await add("b");
    expect(results).toEqual({ b: expect.stringContaining("the store is closed") });
    await appends[0]?.answer(appended(1));
    expect(isClosed).toBe(false);
    await applies[0]?.answer(done(1));
    await closed;
    expect(results).toMatchObject({ a: 1 });
    await writer.close();
  });

  it("closes at once if it has none", async () => {
    const { writer, results, ended, add } = writing();
    await writer.close();
    writer.end("too late");
    await add("a");
    expect([results, ended]).toEqual([{ a: expect.stringContaining("the store is closed") }, []]);
  });

  it("closes when it is ended, with its calls rejected", async () => {
    const { writer, clock, appends, results, add, ended } = writing();
    for (const name of ["a", "b", "c", "d"]) await add(name);
    await appends[0]?.answer(UNKNOWN);
    const closed = writer.close();
    writer.end("lost");
    await closed;
    await turns();
    const lost = expect.stringContaining("lost");
    expect([results, ended]).toEqual([{ a: lost, b: lost, c: lost, d: lost }, []]);
    await clock.advance(1_000);
    expect([appends.length, clock.pending]).toEqual([3, 0]);
  });
});

describe("a writer that was ended", () => {
  it("applies nothing that is answered later", async () => {
    const { writer, appends, add, applied } = writing();
    await add("a");
    writer.end("lost");
    await appends[0]?.answer(appended(1));
    expect(applied()).toEqual([]);
  });

  it("appends nothing whose answer it waited for", async () => {
    const { writer, clock, appends, add } = writing();
    await add("a");
    await add("b");
    await appends[0]?.answer(refused(1));
    await appends[1]?.answer(UNKNOWN);
    writer.end("lost");
    await clock.advance(1_000);
    await turns();
    expect(appends).toHaveLength(2);
  });
});
