import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { Offset } from "../../src/message/batch.js";
import type { Attempt, FinalState } from "../../src/ports/consumers.js";
import { KEY } from "../../src/sqlite/calls/append-request.js";
import { ByteReader, ByteWriter } from "../../src/sqlite/calls/bytes.js";
import { ClassCodes, classMask, hashKey, hashPrefix } from "../../src/sqlite/calls/key-hash.js";
import { checkRow, DamagedRow, decodeRow, MetaWriter, writeExtras } from "../../src/sqlite/calls/log-row.js";
import { ATTEMPT, encodeSettlement } from "../../src/sqlite/calls/settle-request.js";
import { readAttempts } from "../../src/sqlite/consumers/attempt-codec.js";
import { ChunkWriter } from "../../src/sqlite/consumers/chunk-writer.js";
import { STREAM } from "../../src/sqlite/consumers/chunks.js";
import { readOutcomes, Strings } from "../../src/sqlite/consumers/outcome-codec.js";
import { SCHEMA_STEPS } from "../../src/sqlite/database/schema.js";
import { FilterBanks } from "../../src/sqlite/index/filter-bank.js";
import { blocksFor, IdFilter } from "../../src/sqlite/index/id-filter.js";
import { idsBatch } from "../batches.js";

const databases: DatabaseSync[] = [];
afterEach(() => {
  for (const database of databases.splice(0)) database.close();
});

function strings(): Strings {
  const database = new DatabaseSync(":memory:");
  databases.push(database);
  for (const step of SCHEMA_STEPS) database.exec(step);
  return new Strings(database);
}

describe("ByteWriter and ByteReader", () => {
  it("refuse a number that no writer makes", () => {
    const varint =
      (...bytes: number[]): (() => number) =>
      () =>
        new ByteReader(Uint8Array.from(bytes)).varint();
    expect(varint(...Array.from({ length: 7 }, () => 0xff), 0x0f)()).toBe(Number.MAX_SAFE_INTEGER);
    expect(varint(...Array.from({ length: 7 }, () => 0xff), 0x1f)).toThrow(RangeError);
    // Infinity, and zero times infinity.
    expect(varint(...Array.from({ length: 200 }, () => 0xff), 0x01)).toThrow(RangeError);
    expect(varint(...Array.from({ length: 200 }, () => 0x80), 0x00)).toThrow(RangeError);
  });

  it("read back what was written", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.maxSafeNat(), fc.maxSafeInteger(), fc.string({ unit: "binary" }))),
        (items) => {
          const writer = new ByteWriter(1);
          for (const [natural, integer, text] of items) {
            writer.varint(natural);
            // The sign takes one of the 53 bits.
            writer.signed(Math.trunc(integer / 2));
            writer.text(text);
          }
          const reader = new ByteReader(writer.view());
          for (const [natural, integer, text] of items) {
            expect([reader.varint(), reader.signed(), reader.text()]).toEqual([
              natural,
              Math.trunc(integer / 2) + 0,
              text,
            ]);
          }
          expect(reader.done).toBe(true);
        },
      ),
    );
  });

  it("throw when the bytes end too early", () => {
    const writer = new ByteWriter();
    writer.text("four");
    for (let length = 0; length < writer.length; length++) {
      expect(() => new ByteReader(writer.view().subarray(0, length)).text()).toThrow(RangeError);
    }
  });
});

describe("hashes of keys", () => {
  const hash = (seed: number, prefix: string, text: string) => ({
    ...hashKey(hashPrefix(seed, prefix), text, { hi: 0, lo: 0, check: 0 }),
  });

  it("differ by text, by prefix and by seed", () => {
    const texts = ["", "\0", "\0\0", "a", "a\0", "aa", "aaa", "b", "\ud800", "\ud801", "ab", "ba"];
    const hashes = [
      ...texts.map((text) => hash(1, "s", text)),
      ...texts.map((text) => hash(1, "t", text)),
      ...texts.map((text) => hash(2, "s", text)),
      hash(1, "sa", ""),
    ];
    for (const word of ["hi", "lo", "check"] as const) {
      expect(new Set(hashes.map((one) => one[word])).size).toBe(hashes.length);
    }
  });

  it("distribute similar ids over all bits", () => {
    const count = 200_000;
    const pairs = new Set<number>();
    const buckets = new Uint32Array(64);
    for (let i = 0; i < count; i++) {
      const { hi, lo } = hash(7, "src_1", `00000000-0000-4000-8000-${i.toString().padStart(12, "0")}`);
      pairs.add(hi * 2 ** 21 + (lo >>> 11));
      buckets[hi >>> 26] = (buckets[hi >>> 26] ?? 0) + 1;
    }
    // 53 bits: the probability of a collision is one in 450,000.
    expect(pairs.size).toBe(count);
    expect(Math.max(...buckets)).toBeLessThan((count / 64) * 1.1);
    expect(Math.min(...buckets)).toBeGreaterThan((count / 64) * 0.9);
  });

  it("match by type, by event and by both", () => {
    const codes = new ClassCodes(3);
    const opened = codes.classOf("track", "Opened");
    const matches = (found: number, type?: string, event?: string) => {
      const { mask, wanted } = classMask(3, type, event);
      return (found & mask) === wanted;
    };
    expect(matches(opened, "track", "Opened")).toBe(true);
    expect(matches(opened, "track")).toBe(true);
    expect(matches(opened, undefined, "Opened")).toBe(true);
    expect(matches(opened, "identify")).toBe(false);
    expect(matches(opened, "track", "Closed")).toBe(false);
    expect(codes.classOf("delete", undefined)).not.toBe(0);
  });
});

describe("filter banks", () => {
  const prefix = hashPrefix(5, "s");
  const id = (i: number) => hashKey(prefix, `id-${i}`, { hi: 0, lo: 0, check: 0 });
  const filterOver = (from: number, count: number): IdFilter => {
    const filter = IdFilter.forKeys(count);
    for (let i = from; i < from + count; i++) {
      const { hi, lo } = id(i);
      filter.add(hi, lo);
    }
    return IdFilter.from(filter.bytes);
  };
  /** The segments found for each id, in one lookup. */
  const segmentsFor = (banks: FilterBanks<string>, numbers: readonly number[]): string[][] => {
    const keys = new Uint32Array(numbers.length * KEY.size);
    numbers.forEach((i, index) => {
      const { hi, lo } = id(i);
      keys[index * KEY.size + KEY.idHi] = hi;
      keys[index * KEY.size + KEY.idLo] = lo;
    });
    const found = numbers.map((): string[] => []);
    banks.lookUp(keys, (index, segment) => found[index]?.push(segment));
    return found;
  };
  const asked = (banks: FilterBanks<string>, i: number): string[] => segmentsFor(banks, [i])[0] ?? [];

  it("find every added id for any segment size, with few false positives", () => {
    // Banks for 1,024 messages a segment. Some segments are far smaller, and one is larger.
    const banks = new FilterBanks<string>(blocksFor(1_024));
    const sizes = [...Array.from({ length: 150 }, (_, i) => [1_024, 1, 37, 512, 1_000][i % 5] ?? 1), 5_000];
    sizes.forEach((size, i) => {
      for (const _ of banks.addInSteps(`s${i}`, filterOver(i * 10_000, size)));
    });
    sizes.forEach((size, i) => {
      for (let k = 0; k < size; k += 1 + (size >> 5)) expect(asked(banks, i * 10_000 + k)).toContain(`s${i}`);
    });
    const unknown = segmentsFor(
      banks,
      Array.from({ length: 20_000 }, (_, i) => 50_000_000 + i),
    );
    expect(unknown.flat().length / 20_000).toBeLessThan(0.15);
    // A lookup of many ids finds the same as a lookup of each.
    const mixed = Array.from({ length: 3_000 }, (_, i) =>
      i % 3 === 0 ? 60_000_000 + i : (i % 150) * 10_000 + (i % 7),
    );
    expect(segmentsFor(banks, mixed)).toEqual(mixed.map((i) => asked(banks, i)));
  });

  it("do not find a removed segment", () => {
    const banks = new FilterBanks<string>(blocksFor(64));
    for (let i = 0; i < 130; i++) {
      for (const _ of banks.addInSteps(`s${i}`, filterOver(i * 100, 64)));
    }
    for (let i = 0; i < 100; i++) banks.remove(`s${i}`);
    expect(asked(banks, 5)).not.toContain("s0");
    expect(asked(banks, 9_905)).not.toContain("s99");
    expect(asked(banks, 10_005)).toContain("s100");
    expect(asked(banks, 12_905)).toContain("s129");
  });
});

describe("a row of the log", () => {
  function row() {
    const batches = [
      { ...idsBatch(["a", "b"]), ip: "192.0.2.1" },
      { ...idsBatch(["c", "bad", "d"], { skipped: [1] }), madeIds: [[2, "made"]] as const },
      { ...idsBatch(["e"]), kind: "track" as const, onlyDestinations: ["dst_1", "dst_2"] },
    ];
    const body = Buffer.concat(batches.map((batch) => batch.body));
    const meta = new MetaWriter();
    for (const batch of batches) {
      const extras = new ByteWriter();
      const flags = writeExtras(batch, extras);
      meta.add({
        sourceNo: 3,
        receivedAtMs: batch.receivedAtMs,
        flags,
        itemCount: batch.itemCount,
        bodyBytes: batch.body.byteLength,
        skipped: batch.skipped,
        extras: extras.view(),
      });
    }
    return { batches, row: { first: 100, meta: meta.seal(body).slice(), body: new Uint8Array(body) } };
  }

  it("decodes to the batches that were written", () => {
    const { batches, row: made } = row();
    checkRow(made);
    expect(decodeRow(made).map(({ first }) => first)).toEqual([100, 102, 105]);
    decodeRow(made).forEach((batch, i) => {
      const { keys: _, sourceId: __, body, ...content } = batches[i] ?? idsBatch([]);
      expect({ ...batch, body: undefined }).toMatchObject({ ...content, body: undefined });
      expect(Buffer.from(batch.body)).toEqual(Buffer.from(body));
    });
  });

  it("is damaged if any one bit has changed", () => {
    const { row: made } = row();
    for (const part of [made.meta, made.body]) {
      for (let at = 0; at < part.length; at++) {
        part[at] = (part[at] ?? 0) ^ (1 << (at % 8));
        expect(() => checkRow(made)).toThrow(DamagedRow);
        part[at] = (part[at] ?? 0) ^ (1 << (at % 8));
      }
    }
    checkRow(made);
  });
});

describe("chunks of outcomes and attempts", () => {
  const states: FinalState[] = ["delivered", "failed", "filtered", "skipped", "suppressed"];
  const offsets = fc.integer({ min: 1_000, max: 60_000 });

  it("read back the outcomes that were written", () => {
    const outcome = fc.record({
      offset: offsets,
      state: fc.constantFrom(...states),
      reason: fc.oneof(fc.constantFrom("200", "404"), fc.string({ maxLength: 400 })),
      atMs: fc.nat(2 ** 43),
    });
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 1, maxLength: 50 }), (outcomes) => {
        const texts = strings();
        const chunk = new ChunkWriter(STREAM.outcomes, texts);
        chunk.begin(outcomes[0]?.offset ?? 0);
        for (const entry of outcomes) chunk.addOutcome(entry);
        expect(readOutcomes(chunk.data, chunk.base, texts)).toEqual(outcomes);
        expect(chunk.min).toBe(Math.min(...outcomes.map(({ offset }) => offset)));
        expect(chunk.max).toBe(Math.max(...outcomes.map(({ offset }) => offset)));
      }),
      { numRuns: 50 },
    );
  });

  it("read back the attempts that were written, and a usual one takes few bytes", () => {
    const text = fc.string({ unit: "binary", maxLength: 300 });
    const attempt = fc.record(
      {
        offset: offsets,
        attempt: fc.integer({ min: 1, max: 50 }),
        atMs: fc.nat(2 ** 43),
        url: fc.constantFrom("https://a.example/", "https://b.example/"),
        latencyMs: fc.integer({ min: 0, max: 5_000_000 }).map((us) => us / 1000),
        address: text,
        status: fc.integer({ min: 100, max: 599 }),
        error: fc.record({ code: text, message: text }),
        requestHeaders: fc.dictionary(fc.constantFrom("a", "b"), text, { noNullPrototype: true }),
        response: text,
        responseHeaders: fc.record(
          { shown: fc.dictionary(fc.constantFrom("a", "__proto__"), text), leftOut: fc.nat() },
          { noNullPrototype: true },
        ),
        replay: fc.boolean(),
        transformation: fc.constantFrom("Hash, version 1", "Hash, version 2 (1 of 2)"),
      },
      { requiredKeys: ["offset", "attempt", "atMs", "url", "latencyMs"], noNullPrototype: true },
    );
    const written = (attempts: readonly Attempt[]) => {
      const texts = strings();
      const request = encodeSettlement("c", { cursor: 0 as Offset, outcomes: [], retries: [], attempts }, 0);
      const chunk = new ChunkWriter(STREAM.attempts, texts);
      chunk.begin(attempts[0]?.offset ?? 0);
      for (let at = 0; at < request.attempts.length; at += ATTEMPT.size) {
        chunk.addAttempt(request.attempts.subarray(at, at + ATTEMPT.size), request.strings);
      }
      return { data: chunk.data, read: readAttempts(chunk.data, chunk.base, texts) };
    };
    fc.assert(
      fc.property(fc.array(attempt, { minLength: 1, maxLength: 30 }), (made) => {
        const attempts = [...made].sort((a, b) => a.offset - b.offset) as unknown as Attempt[];
        expect(written(attempts).read).toEqual(attempts);
      }),
      { numRuns: 50 },
    );
    const usual = Array.from({ length: 200 }, (_, i) => ({
      offset: (5_000 + i) as Offset,
      attempt: 1,
      atMs: 1_795_253_400_000 + i * 3,
      url: "https://example.com/hook",
      address: "203.0.113.9",
      status: 200,
      latencyMs: 12.345 + (i % 9),
      response: "ok",
    }));
    expect(written(usual).data.length / usual.length).toBeLessThan(10);
    const responseHeaders = { shown: { "content-type": "text/html", server: "nginx" }, leftOut: 0 };
    const refused = usual.map((one) => ({ ...one, status: 503, responseHeaders }));
    expect(written(refused).data.length / refused.length).toBeLessThan(10);
  });
});
