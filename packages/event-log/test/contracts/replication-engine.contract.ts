import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  EntriesTrimmed,
  type LeaseRecord,
  type LogAppend,
  type LogEntry,
  type ReplicationEngine,
} from "../../src/replicated/engine.js";

/** One cluster, to which any number of processes connect. */
export interface EngineCluster {
  connect(): Promise<ReplicationEngine>;
  close(): Promise<void>;
}

export interface EngineFixture {
  /** A new, empty cluster. */
  newCluster(): Promise<EngineCluster>;
  close(): Promise<void>;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

async function* parts(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of texts) yield bytes(part);
}

async function whole(found: AsyncIterable<Uint8Array> | undefined): Promise<string | undefined> {
  if (found === undefined) return undefined;
  const read: Uint8Array[] = [];
  for await (const part of found) read.push(part);
  return text(Buffer.concat(read));
}

/** The first `count` entries after `after`. */
export async function readEntries(
  engine: ReplicationEngine,
  after: number,
  count: number,
): Promise<{ sequence: number; text: string }[]> {
  const ending = new AbortController();
  const entries: LogEntry[] = [];
  for await (const entry of engine.log.read(after, ending.signal)) {
    entries.push(entry);
    if (entries.length === count) break;
  }
  ending.abort();
  return entries.map(({ sequence, data }) => ({ sequence, text: text(data) }));
}

/** Appends, and appends again while nothing is known. */
export async function appendUntilKnown(
  engine: ReplicationEngine,
  data: Uint8Array,
  expectedLast: number,
): Promise<LogAppend> {
  for (;;) {
    const answer = await engine.log.append(data, expectedLast);
    if (answer.kind !== "unknown") return answer;
  }
}

/** What every engine promises to a replicated store. */
export function replicationEngineContract(name: string, start: () => Promise<EngineFixture>): void {
  describe(`a replication engine: ${name}`, () => {
    let fixture: EngineFixture;
    let cluster: EngineCluster;
    let engines: ReplicationEngine[];
    const connect = async (): Promise<ReplicationEngine> => {
      const engine = await cluster.connect();
      engines.push(engine);
      return engine;
    };

    beforeAll(async () => {
      fixture = await start();
    });
    afterAll(() => fixture?.close());
    beforeEach(async () => {
      engines = [];
      cluster = await fixture.newCluster();
    });
    afterEach(async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      await cluster.close();
    });

    describe("the log", () => {
      it("is empty at first, and then has the appended entries in order", async () => {
        const engine = await connect();
        expect(await engine.log.bounds()).toEqual({ first: 1, last: 0 });
        expect(await engine.log.append(bytes("a"), 0)).toEqual({ kind: "appended", sequence: 1 });
        expect(await engine.log.append(bytes("b"), 1)).toEqual({ kind: "appended", sequence: 2 });
        expect(await engine.log.bounds()).toEqual({ first: 1, last: 2 });
        expect(await readEntries(engine, 0, 2)).toEqual([
          { sequence: 1, text: "a" },
          { sequence: 2, text: "b" },
        ]);
        expect(await readEntries(engine, 1, 1)).toEqual([{ sequence: 2, text: "b" }]);
      });

      it("refuses an entry that expects another end", async () => {
        const engine = await connect();
        await engine.log.append(bytes("a"), 0);
        for (const expectedLast of [0, 2, 100]) {
          const answer = await engine.log.append(bytes("b"), expectedLast);
          expect(answer.kind).toBe("refused");
          if (answer.kind === "refused" && answer.last !== undefined) expect(answer.last).toBe(1);
        }
        expect(await engine.log.bounds()).toEqual({ first: 1, last: 1 });
      });

      it("accepts exactly one of several writers with the same expectation", async () => {
        const writers = await Promise.all([connect(), connect(), connect()]);
        for (let round = 0; round < 20; round++) {
          const answers = await Promise.all(
            writers.map((writer, index) => writer.log.append(bytes(`${round}-${index}`), round)),
          );
          expect(answers.map(({ kind }) => kind).sort()).toEqual(["appended", "refused", "refused"]);
          const winner = answers.findIndex(({ kind }) => kind === "appended");
          expect(await readEntries(writers[2] as ReplicationEngine, round, 1)).toEqual([
            { sequence: round + 1, text: `${round}-${winner}` },
          ]);
        }
      });

      it("takes pipelined entries, each of which expects the one before it", async () => {
        const engine = await connect();
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, index) => engine.log.append(bytes(`entry ${index}`), index)),
        );
        expect(answers).toEqual(
          Array.from({ length: 50 }, (_, index) => ({ kind: "appended", sequence: index + 1 })),
        );
        const read = await readEntries(engine, 0, 50);
        expect(read.map((entry) => entry.text)).toEqual(answers.map((_, index) => `entry ${index}`));
      });

      it("refuses the next entry of a deposed writer, but not those that it pipelined behind it", async () => {
        const [old, next] = await Promise.all([connect(), connect()]);
        await old.log.append(bytes("old"), 0);
        expect(await next.log.append(bytes("takeover"), 1)).toEqual({ kind: "appended", sequence: 2 });
        // The first one is refused. The second one expects the sequence that the takeover got. So entries name their writer.
        const answers = await Promise.all([
          old.log.append(bytes("late 1"), 1),
          old.log.append(bytes("late 2"), 2),
        ]);
        expect(answers.map(({ kind }) => kind)).toEqual(["refused", "appended"]);
        expect((await readEntries(next, 0, 3)).map((entry) => entry.text)).toEqual([
          "old",
          "takeover",
          "late 2",
        ]);
      });

      it("keeps the bytes of an entry of the greatest size, and refuses a greater one", async () => {
        const engine = await connect();
        const data = new Uint8Array(engine.log.maxEntryBytes);
        for (let index = 0; index < data.length; index += 97) data[index] = index % 251;
        expect(await engine.log.append(data, 0)).toEqual({ kind: "appended", sequence: 1 });
        expect((await engine.log.append(new Uint8Array(data.length + 1), 1)).kind).toBe("impossible");
        for await (const entry of engine.log.read(0, new AbortController().signal)) {
          expect(Buffer.compare(entry.data, data)).toBe(0);
          break;
        }
        expect(await engine.log.append(new Uint8Array(0), 1)).toEqual({ kind: "appended", sequence: 2 });
      });

      it("gives a reader the entries of another process as they are added", async () => {
        const [writer, reader] = await Promise.all([connect(), connect()]);
        const ending = new AbortController();
        const seen: string[] = [];
        const reading = (async () => {
          for await (const entry of reader.log.read(0, ending.signal)) {
            seen.push(`${entry.sequence}:${text(entry.data)}`);
            const answer = await writer.log.append(bytes(`after ${entry.sequence}`), entry.sequence);
            expect(answer.kind).toBe("appended");
            if (entry.sequence === 20) ending.abort();
          }
        })();
        await writer.log.append(bytes("first"), 0);
        await reading;
        expect(seen.at(0)).toBe("1:first");
        expect(seen.at(-1)).toBe("20:after 19");
        expect(seen).toHaveLength(20);
      });

      it("ends a reader that waits when its signal aborts", async () => {
        const engine = await connect();
        const ending = new AbortController();
        const iterator = engine.log.read(0, ending.signal)[Symbol.asyncIterator]();
        const waiting = iterator.next();
        ending.abort();
        expect((await waiting).done).toBe(true);
      });
    });

    describe("a trimmed log", () => {
      it("goes on with its sequences, and tells readers what is gone", async () => {
        const engine = await connect();
        for (let index = 0; index < 5; index++) await engine.log.append(bytes(`${index}`), index);
        await engine.log.trim(3);
        expect(await engine.log.bounds()).toEqual({ first: 4, last: 5 });
        await engine.log.trim(2);
        expect(await engine.log.bounds()).toEqual({ first: 4, last: 5 });
        expect(await readEntries(engine, 3, 2)).toEqual([
          { sequence: 4, text: "3" },
          { sequence: 5, text: "4" },
        ]);
        const error: unknown = await readEntries(engine, 2, 1).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(EntriesTrimmed);
        expect((error as EntriesTrimmed).first).toBe(4);
      });

      it("keeps its end when everything is trimmed, also beyond the end", async () => {
        const engine = await connect();
        await engine.log.trim(10);
        expect(await engine.log.bounds()).toEqual({ first: 1, last: 0 });
        await engine.log.append(bytes("a"), 0);
        await engine.log.append(bytes("b"), 1);
        await engine.log.trim(100);
        expect(await engine.log.bounds()).toEqual({ first: 3, last: 2 });
        expect((await engine.log.append(bytes("c"), 0)).kind).toBe("refused");
        expect(await engine.log.append(bytes("c"), 2)).toEqual({ kind: "appended", sequence: 3 });
        await expect(readEntries(engine, 0, 1)).rejects.toBeInstanceOf(EntriesTrimmed);
      });

      it("tells a reader whose entries are removed while it is behind", async () => {
        const engine = await connect();
        await engine.log.append(bytes("a"), 0);
        const iterator = engine.log.read(0, new AbortController().signal)[Symbol.asyncIterator]();
        expect((await iterator.next()).value.sequence).toBe(1);
        await engine.log.append(bytes("b"), 1);
        await engine.log.trim(2);
        await engine.log.append(bytes("c"), 2);
        // It may have had the entry already.
        const next = await iterator.next().then(
          ({ value }) => value.sequence,
          (error: unknown) => error,
        );
        if (next !== 2) expect(next).toBeInstanceOf(EntriesTrimmed);
        await iterator.return?.();
      });
    });

    describe("leases", () => {
      it("change only from the revision that was seen", async () => {
        const [one, other] = await Promise.all([connect(), connect()]);
        expect(await one.leases.get("owner")).toBeUndefined();
        const first = await one.leases.put("owner", "one", undefined);
        expect(first).toBeDefined();
        expect(await other.leases.put("owner", "other", undefined)).toBeUndefined();
        expect(await other.leases.get("owner")).toEqual({ revision: first, value: "one" });
        const second = await one.leases.put("owner", "one again", first);
        expect(second).toBeGreaterThan(first as number);
        expect(await other.leases.put("owner", "other", first)).toBeUndefined();
        expect(await other.leases.remove("owner", first as number)).toBe(false);
        expect(await other.leases.remove("owner", second as number)).toBe(true);
        expect(await one.leases.get("owner")).toBeUndefined();
        const third = await other.leases.put("owner", "other", undefined);
        expect(third).toBeGreaterThan(second as number);
        expect(await one.leases.get("owner")).toEqual({ revision: third, value: "other" });
      });

      it("are taken by exactly one of several processes", async () => {
        const all = await Promise.all([connect(), connect(), connect()]);
        for (let round = 0; round < 10; round++) {
          const taken = await Promise.all(
            all.map(({ leases }, index) => leases.put(`p${round}`, `${index}`, undefined)),
          );
          expect(taken.filter((revision) => revision !== undefined)).toHaveLength(1);
        }
      });

      it("are listed by prefix, without those that were removed", async () => {
        const { leases } = await connect();
        expect(await leases.list("")).toEqual([]);
        await leases.put("member/a", "A", undefined);
        await leases.put("member/b", "B", undefined);
        await leases.put("owner", "O", undefined);
        const gone = await leases.put("member/c", "C", undefined);
        await leases.remove("member/c", gone as number);
        const found = await leases.list("member/");
        expect(found.map(({ key, value }) => `${key}=${value}`)).toEqual(["member/a=A", "member/b=B"]);
        expect(await leases.list("x")).toEqual([]);
      });

      it("are watched: what is there, then each change", async () => {
        const [watcher, holder] = await Promise.all([connect(), connect()]);
        const before = await holder.leases.put("member/a", "A", undefined);
        await holder.leases.put("owner", "O", undefined);
        const seen: string[] = [];
        let onSeen = (): void => {};
        const seenSoFar = async (count: number): Promise<string[]> => {
          while (seen.length < count) await new Promise<void>((resolve) => (onSeen = resolve));
          return seen;
        };
        const ending = new AbortController();
        const listener = (key: string, record: LeaseRecord | undefined): void => {
          seen.push(`${key}=${record?.value}`);
          onSeen();
        };
        await watcher.leases.watch("member/", listener, ending.signal);
        expect(seen).toEqual(["member/a=A"]);
        const after = await holder.leases.put("member/a", "A2", before);
        await holder.leases.put("owner/x", "X", undefined);
        await seenSoFar(2);
        await holder.leases.remove("member/a", after as number);
        expect(await seenSoFar(3)).toEqual(["member/a=A", "member/a=A2", "member/a=undefined"]);
        ending.abort();
      });

      it("can be watched while there are none", async () => {
        const { leases } = await connect();
        const ending = new AbortController();
        await leases.watch("member/", () => {}, ending.signal);
        ending.abort();
      });
    });

    describe("snapshots", () => {
      it("are stored whole, listed, replaced and removed", async () => {
        const [one, other] = await Promise.all([connect(), connect()]);
        expect(await other.snapshots.list()).toEqual([]);
        expect(await other.snapshots.get("s 1")).toBeUndefined();
        const stored = await one.snapshots.put("s 1", { sequence: "12" }, parts("hello ", "", "world"));
        expect(stored).toEqual({ name: "s 1", bytes: 11, metadata: { sequence: "12" } });
        expect(await other.snapshots.list()).toEqual([stored]);
        expect(await whole(await other.snapshots.get("s 1"))).toBe("hello world");
        await one.snapshots.put("s 1", { sequence: "13" }, parts("new"));
        await one.snapshots.put("s/2", {}, parts());
        expect((await other.snapshots.list()).map(({ name: of, bytes: size }) => [of, size])).toEqual([
          ["s 1", 3],
          ["s/2", 0],
        ]);
        expect(await whole(await other.snapshots.get("s 1"))).toBe("new");
        expect(await whole(await other.snapshots.get("s/2"))).toBe("");
        await one.snapshots.remove("s 1");
        await one.snapshots.remove("s 1");
        expect((await other.snapshots.list()).map(({ name: of }) => of)).toEqual(["s/2"]);
        expect(await other.snapshots.get("s 1")).toBeUndefined();
      });

      it("of several megabytes come back as they were", async () => {
        const { snapshots } = await connect();
        const block = Buffer.alloc(700_001, "0123456789abcdef");
        async function* blocks(): AsyncGenerator<Uint8Array> {
          for (let index = 0; index < 6; index++) yield block;
        }
        await snapshots.put("large", {}, blocks());
        const found = await whole(await snapshots.get("large"));
        expect(found === Buffer.concat(Array(6).fill(block)).toString()).toBe(true);
      });

      it("that are not whole are removed, also while they are uploaded", async () => {
        const [one, other] = await Promise.all([connect(), connect()]);
        await one.snapshots.put("whole", {}, parts("whole"));
        const begun = Promise.withResolvers<void>();
        const goOn = Promise.withResolvers<void>();
        async function* slow(): AsyncGenerator<Uint8Array> {
          yield Buffer.alloc(2_000_000, "x");
          begun.resolve();
          await goOn.promise;
          yield bytes("end");
        }
        const upload = one.snapshots.put("slow", {}, slow());
        upload.catch(() => {});
        await begun.promise;
        await other.snapshots.removeUnfinished();
        goOn.resolve();
        await expect(upload).rejects.toThrow("the snapshot slow was not stored: its parts were removed");
        expect((await other.snapshots.list()).map(({ name }) => name)).toEqual(["whole"]);
        expect(await whole(await other.snapshots.get("whole"))).toBe("whole");
      });

      it("are not there if their bytes ended with an error", async () => {
        const { snapshots } = await connect();
        async function* broken(): AsyncGenerator<Uint8Array> {
          yield bytes("half");
          throw new Error("the disk failed");
        }
        await expect(snapshots.put("broken", {}, broken())).rejects.toThrow("the disk failed");
        expect(await snapshots.list()).toEqual([]);
        expect(await snapshots.get("broken")).toBeUndefined();
      });
    });

    it("is connected until it is closed", async () => {
      const engine = await connect();
      expect(engine.health()).toEqual({ kind: "connected" });
    });
  });
}
