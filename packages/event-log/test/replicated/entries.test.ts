import { describe, expect, it } from "vitest";
import { afterAnswer } from "../../src/replicated/writer/after-answer.js";
import { foundEntry } from "../../src/replicated/writer/found-entry.js";
import { nextGroup } from "../../src/replicated/writer/next-group.js";
import { type Applied, NOTHING_APPLIED } from "../../src/sqlite/calls/applied.js";
import { encodeCall } from "../../src/sqlite/replica/call-codec.js";
import {
  decodeEntry,
  type EntryId,
  encodeEntry,
  partsOf,
  UnknownEntry,
} from "../../src/sqlite/replica/entry.js";
import { judge } from "../../src/sqlite/replica/judge.js";

describe("an entry", () => {
  const calls = [
    {
      operation: "append",
      request: {
        batches: Float64Array.of(1.5, Number.MAX_SAFE_INTEGER),
        keys: Uint32Array.of(7),
        bodies: Uint8Array.of(1, 2, 3),
        newSources: [[1, "s"]],
      },
    },
    { operation: "putDocuments", request: { puts: [{ kind: "k", id: "ü\ud800", json: "{}" }] } },
    { operation: "settle", request: { outcomes: new Float64Array(0), strings: [] } },
  ];
  const data = encodeEntry({ session: "a.1", number: 3 }, calls.map(encodeCall));

  const withHead = (json: string): Uint8Array => {
    const bytes = encodeEntry({ session: "", number: 0 }, []);
    const head = Buffer.from(json);
    new DataView(bytes.buffer).setUint32(4, head.byteLength, true);
    return Buffer.concat([bytes.subarray(0, 8), head]);
  };

  it("is read as it was written", () => {
    expect(decodeEntry(data)).toEqual({ session: "a.1", number: 3, calls });
  });

  it("is read from the middle of other bytes", () => {
    const around = new Uint8Array(data.byteLength + 20);
    around.set(data, 13);
    expect(decodeEntry(around.subarray(13, 13 + data.byteLength))).toEqual(decodeEntry(data));
  });

  it("is read from a Buffer that shares its memory", () => {
    const around = Buffer.concat([Buffer.alloc(13), data]);
    expect(decodeEntry(around.subarray(13) as unknown as Uint8Array<ArrayBuffer>)).toEqual(decodeEntry(data));
  });

  it("is put together from its parts", () => {
    const [call] = calls.map(encodeCall);
    if (call === undefined) throw new Error("no call");
    const parts = partsOf(call, 50);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.every(({ data: part, count }) => part.byteLength <= 50 && count === parts.length)).toBe(
      true,
    );
    const whole = Uint8Array.from(Buffer.concat(parts.map((part) => part.data)));
    expect(decodeEntry(whole).calls).toEqual([calls[0]]);
  });

  it.each([
    ["another program's", Buffer.from("hello, this is something else"), "Sluice did not write"],
    [
      "a newer version's",
      Uint8Array.of(0x53, 0x4c, 0x43, 9, 0, 0, 0, 0),
      "format 9, and this version knows 1",
    ],
    ["cut off", data.slice(0, 20), "cut off"],
    ["cut off in its length", data.slice(0, 6), "cut off"],
    ["empty", new Uint8Array(0), "Sluice did not write"],
    ["without its arrays", data.slice(0, -32), "damaged"],
    ["with a head that is no JSON", withHead("{"), "damaged"],
    ["with a head that is no entry", withHead("7"), "damaged"],
    ["without a session", withHead('{"number":1,"calls":[]}'), "damaged"],
    ["without calls", withHead('{"session":"a","number":1}'), "damaged"],
    ["with a call that is none", withHead('{"session":"a","number":1,"calls":[{"request":{}}]}'), "damaged"],
    [
      "with arrays of an unknown kind",
      withHead(
        '{"session":"a","number":1,"calls":[{"operation":"a","request":{},"arrays":[["b","u16",0]]}]}',
      ),
      "damaged",
    ],
  ])("is refused: %s", (_, bytes, why) => {
    expect(() => decodeEntry(Uint8Array.from(bytes))).toThrow(UnknownEntry);
    expect(() => decodeEntry(Uint8Array.from(bytes))).toThrow(why);
  });
});

describe("what a copy does with an entry", () => {
  const now: Applied = { ...NOTHING_APPLIED, sequence: 9, session: "a.1", number: 4 };
  it.each([
    ["the next one of the session", { session: "a.1", number: 5 }, false, "apply"],
    ["one that it has", { session: "a.1", number: 4 }, false, "ignore"],
    ["one behind a gap", { session: "a.1", number: 6 }, false, "ignore"],
    ["a takeover by another session", { session: "b.2", number: 1 }, true, "apply"],
    ["its own takeover again", { session: "a.1", number: 1 }, true, "ignore"],
    ["one of a session that does not lead", { session: "b.2", number: 5 }, false, "ignore"],
    ["a takeover of the session at the next number", { session: "a.1", number: 5 }, true, "apply"],
    ["a takeover by another session, whatever its number", { session: "b.2", number: 9 }, true, "apply"],
  ] as const)("%s", (_, id, takesOver, expected) => {
    expect(judge(now, id, takesOver)).toBe(expected);
  });
});

describe("what the writer does with an answer", () => {
  it.each([
    ["at its place", { kind: "appended", sequence: 8 }, { kind: "accepted" }],
    ["at another place", { kind: "appended", sequence: 9 }, { kind: "look" }],
    ["no answer", { kind: "unknown", reason: "cut" }, { kind: "again", delayed: true }],
    ["the entry before it had not arrived", { kind: "refused", last: 5 }, { kind: "again", delayed: false }],
    [
      "the entry before it has arrived since",
      { kind: "refused", last: 7 },
      { kind: "again", delayed: false },
    ],
    ["the log does not say why", { kind: "refused", last: undefined }, { kind: "look" }],
    ["something stands at its place", { kind: "refused", last: 8 }, { kind: "look" }],
    ["no room", { kind: "impossible", reason: "full" }, { kind: "give up", reason: "full" }],
  ] as const)("%s", (_, answer, expected) => {
    expect(afterAnswer(answer, 7)).toEqual(expected);
  });
});

describe("what the writer finds in the log", () => {
  const own = { session: "a.1", number: 5 };
  it.each([
    ["its oldest entry under way", own, { ...own, operation: "append" }, "own"],
    ["a later one of its entries", own, { ...own, number: 6, operation: "append" }, "other"],
    ["an entry of its own that is settled", own, { ...own, number: 4, operation: "append" }, "other"],
    ["its own takeover again", own, { ...own, number: 1, operation: "takeover" }, "other"],
    ["an entry of its own, with none under way", undefined, { ...own, operation: "append" }, "other"],
    ["a takeover by another process", own, { session: "b.2", number: 1, operation: "takeover" }, "replaced"],
    ["the same, at its number", own, { session: "b.2", number: 5, operation: "takeover" }, "replaced"],
    ["an entry of a process that it replaced", own, { session: "z.0", number: 5, operation: "put" }, "other"],
    ["an entry without calls", own, { session: "z.0", number: 5 }, "other"],
  ])("%s", (_, oldest, { operation, ...id }: EntryId & { operation?: string }, expected) => {
    const calls = operation === undefined ? [] : [{ operation, request: {} }];
    expect(foundEntry("a.1", oldest, { ...id, calls })).toBe(expected);
  });
});

describe("how many calls share the next entry", () => {
  const alone = { bytes: 10, isAlone: true };
  const shared = (bytes: number) => ({ bytes, isAlone: false });
  it.each([
    ["none wait", [], 0],
    ["all fit", [shared(30), shared(30)], 2],
    ["all fit exactly", [shared(60), shared(40)], 2],
    ["the last does not fit", [shared(60), shared(40), shared(1)], 2],
    ["the first alone is too large", [shared(101), shared(1)], 1],
    ["the first has an entry of its own", [alone, shared(1)], 1],
    ["a later one has an entry of its own", [shared(1), shared(1), alone, shared(1)], 2],
    ["only one waits, which has an entry of its own", [alone], 1],
  ])("%s", (_, waiting, expected) => {
    expect(nextGroup(waiting, 100)).toBe(expected);
  });
});
