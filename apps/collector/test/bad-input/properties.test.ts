import { BEFORE_FIRST, decodeBatch, inspectJson, itemSpan, parseJson, scanJson } from "@sluice/event-log";
import { parseKeepingDigits } from "@sluice/event-log/testing";
import { coerce, webhookPayload } from "@sluice/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CollectorError } from "../../src/errors.js";
import { openRequest } from "../../src/ingest/messages/open-request.js";
import { validateMessages } from "../../src/ingest/messages/validate-messages.js";
import { type IngestServer, startIngestServer } from "../ingest/ingest-server.js";

const MAX_DEPTH = 1_000;

/** JSON text with white space and escapes where JSON allows them, so that no two spellings look alike. */
const spelled = (value: unknown, seed: number): string => {
  let state = seed;
  const next = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state % n;
  };
  const blank = (): string => ["", "", "", " ", "\n", "\t\r"][next(6)] as string;
  const text = (value: string): string =>
    next(3) === 0
      ? `"${Array.from({ length: value.length }, (_, i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`
      : JSON.stringify(value);
  const write = (value: unknown): string => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value))
      return `[${blank()}${value.map((item) => blank() + write(item) + blank()).join(",")}]`;
    if (typeof value === "object" && value !== null)
      return `{${blank()}${Object.entries(value)
        .map(([key, item]) => `${blank()}${text(key)}${blank()}:${blank()}${write(item)}${blank()}`)
        .join(",")}}`;
    return JSON.stringify(value);
  };
  return blank() + write(value) + blank();
};

const json = fc.jsonValue({ maxDepth: 5, noUnicodeString: false });
const key = fc.oneof(fc.string(), fc.constantFrom("batch", "context", "__proto__", '"batch":['));

describe("scanJson", () => {
  test("finds the items of any batch exactly where they are", () => {
    fc.assert(
      fc.property(
        fc.array(json, { maxLength: 8 }),
        fc.array(fc.tuple(key, json), { maxLength: 4 }),
        fc.array(fc.tuple(key, json), { maxLength: 4 }),
        fc.nat(),
        (items, before, after, seed) => {
          // Built from text, because an object would not keep a key twice.
          const parts = [...before, ["batch", items] as const, ...after.filter(([name]) => name !== "batch")];
          const text = `{${parts.map(([name, value], i) => `${spelled(name, seed + i)}:${spelled(value, seed + i)}`).join(",")}}`;
          const body = Buffer.from(text);
          const scan = scanJson(body, MAX_DEPTH);
          expect(Math.max(0, scan.bounds.length - 1)).toBe(items.length);
          const parsed = (JSON.parse(text) as { batch: unknown[] }).batch;
          for (const [i, item] of parsed.entries()) {
            const slice = body.subarray(...itemSpan(body, scan, i)).toString();
            expect(slice).toBe(slice.trim());
            expect(JSON.parse(slice)).toEqual(item);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("ends for any bytes, and never throws", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 2_000 }),
          fc
            .array(
              fc.constantFrom(
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                '"',
                "\\",
                '"batch"',
                " ",
                "1e9",
                "\\u0062",
                "null",
              ),
              { maxLength: 200 },
            )
            .map((parts) => Buffer.from(parts.join(""))),
        ),
        (body) => {
          const scan = scanJson(body, 3);
          for (let i = 0; i < scan.bounds.length - 1; i++) {
            const [start, end] = itemSpan(body, scan, i);
            expect(start).toBeLessThanOrEqual(end);
            expect(end).toBeLessThanOrEqual(body.length);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("tells the depth that a recursive count tells", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(fc.array(json, { maxLength: 5 }), fc.integer({ min: 1, max: 5 }), (items, depth) => {
        const { deepItems } = scanJson(Buffer.from(JSON.stringify({ batch: items })), depth);
        const parsed = JSON.parse(JSON.stringify(items)) as unknown[];
        expect(deepItems).toEqual(parsed.flatMap((item, i) => (depthOf(item) > depth ? [i] : [])));
      }),
    );
  });
});

describe("inspectJson", () => {
  test("finds nesting where there is some, and numbers beyond what an integer may be in a double", () => {
    fc.assert(
      fc.property(json, fc.nat({ max: 6 }), (value, depth) => {
        const numbers = JSON.stringify(value).match(/(?<=[[:,])-?\d[\d.e+-]*/g) ?? [];
        expect(inspectJson(value, 100).isDeep).toBe(false);
        expect(inspectJson(value, depth).isDeep).toBe(depthOf(value) > depth);
        if (numbers.length === 0 && typeof value !== "number")
          expect(inspectJson(value, 100).hasLargeNumbers).toBe(false);
      }),
      { numRuns: 1_000 },
    );
    expect(inspectJson({ a: [9007199254740992] }, 9).hasLargeNumbers).toBe(true);
    expect(inspectJson({ a: [Number.NEGATIVE_INFINITY] }, 9).hasLargeNumbers).toBe(true);
    expect(inspectJson({ a: [9007199254740991] }, 9).hasLargeNumbers).toBe(false);
  });
});

/** How many objects and arrays stand inside each other. */
function depthOf(value: unknown): number {
  return typeof value === "object" && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0;
}

describe("openRequest", () => {
  test("finds the messages over 32 KB that measuring each would find", () => {
    const message = fc.record({
      fill: fc.oneof(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 32_650, max: 32_760 }),
        fc.integer({ min: 40_000, max: 60_000 }),
      ),
      letter: fc.constantFrom("x", "é", "\u0000"),
      blanks: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), (messages) => {
        const texts = messages.map(({ fill, letter }) => {
          const letters =
            letter === "x" ? fill : Math.floor(fill / Buffer.byteLength(JSON.stringify(letter).slice(1, -1)));
          return JSON.stringify({ type: "page", userId: "u", x: letter.repeat(letters) });
        });
        const items = texts.map((text, i) => " ".repeat(messages[i]?.blanks ?? 0) + text);
        const opened = openRequest(Buffer.from(`{"batch":[${items.join(",")}]}`), undefined);
        const { refusals } = validateMessages(opened, { isForeignKey: () => false, makeId: () => "id" });
        expect(refusals.map(({ index, issues }) => [index, issues[0]?.code])).toEqual(
          texts.flatMap((text, i) => (Buffer.byteLength(text) > 32_768 ? [[i, "message_too_large"]] : [])),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("any bytes are opened or refused with a code for which the client is to blame", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 500 }),
          fc.json().map((text) => Buffer.from(text)),
          fc.tuple(fc.json(), fc.nat(), fc.uint8Array({ maxLength: 3 })).map(([text, at, noise]) => {
            const bytes = Buffer.from(`{"batch":[${text}]}`);
            bytes.set(noise, at % Math.max(1, bytes.length - 3));
            return bytes;
          }),
        ),
        fc.constantFrom(undefined, "track" as const),
        (body, kind) => {
          try {
            openRequest(body, kind);
          } catch (error) {
            expect(error).toBeInstanceOf(CollectorError);
            expect(["malformed_json", "payload_too_large"]).toContain((error as CollectorError).code);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

/** Numbers as they may stand in JSON, of any length. */
const integer = fc
  .tuple(fc.constantFrom("", "-"), fc.bigInt({ min: 0n, max: 10n ** 60n }))
  .map(([sign, digits]) => `${sign}${digits}`)
  .filter((text) => text !== "-0");

test("integers of any length come out as they went in", () => {
  fc.assert(
    fc.property(integer, (digits) => {
      expect(JSON.stringify(parseJson(`{"a":[${digits}]}`))).toBe(`{"a":[${digits}]}`);
    }),
  );
});

test("any JSON is what a reviver that keeps digits makes of it, fields named __proto__ too", () => {
  const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
  const keepDigits = (_key: string, value: unknown, context: { source?: string }): unknown => {
    const { source } = context;
    if (typeof value !== "number" || source === undefined) return value;
    const isHeld = /^-?\d+$/.test(source) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isHeld ? value : rawJson(source);
  };
  const number = fc.oneof(
    integer,
    fc.constantFrom(
      "1e999",
      "-1E+400",
      "1.5e308",
      "12345678901234567890.5",
      "1e20",
      "0",
      "-0",
      "9007199254740993",
    ),
  );
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      number,
      fc.string().map((text) => JSON.stringify(text)),
      fc.array(tie("json"), { maxLength: 4 }).map((items) => `[${items.join(", ")}]`),
      fc
        .array(fc.tuple(fc.oneof(fc.string(), fc.constant("__proto__")), tie("json")), { maxLength: 4 })
        .map((fields) => `{${fields.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`),
    ),
  }));
  fc.assert(
    fc.property(json, (text) => {
      const reviver = keepDigits as Parameters<typeof JSON.parse>[1];
      const expected = JSON.stringify(JSON.parse(text, reviver));
      expect(JSON.stringify(parseKeepingDigits(text))).toBe(expected);
      expect(JSON.stringify(parseJson(text))).toBe(expected);
    }),
    { numRuns: 1_000 },
  );
});

test("doubles come out as JSON.stringify writes them", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      const text = JSON.stringify(number);
      const expected =
        Number.isInteger(number) && !Number.isSafeInteger(number) ? text : JSON.stringify(JSON.parse(text));
      expect(JSON.stringify(parseJson(`[${text}]`))).toBe(`[${expected}]`);
    }),
  );
});

describe("JSON in is JSON out", () => {
  let server: IngestServer;
  beforeAll(async () => {
    server = await startIngestServer();
  });
  afterAll(() => server.close());

  test("at the webhook: whatever a message carries is what is sent", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(key, json, { maxKeys: 6 }),
        fc.dictionary(
          fc.string().filter((name) => !RESERVED.has(name)),
          json,
          { maxKeys: 4 },
        ),
        async (properties, unknown) => {
          const messageId = `run-${runs++}`;
          const message = { ...unknown, type: "track", event: "E", userId: "u1", messageId, properties };
          const head = server.store.log.head();
          const answer = await server.post("/v1/batch", { batch: [message] });
          expect(answer.body).toEqual({ success: true, accepted: 1 });
          const [batch] = await server.store.log.read(head, { messages: 1, bytes: 1 });
          if (batch === undefined) throw new Error("nothing was stored");
          const [stored] = decodeBatch(batch);
          const sent = JSON.stringify(webhookPayload(stored?.message as never, "2026-11-21T09:30:08.276Z"));
          const wanted = JSON.parse(JSON.stringify(message)) as Record<string, unknown>;
          expect(JSON.parse(sent)).toEqual({
            ...wanted,
            version: 1,
            timestamp: "2026-11-21T09:30:08.276Z",
          });
          // Not only equal: the same text, so that a signature over either verifies.
          expect(sent).toContain(JSON.stringify(properties));
        },
      ),
      { numRuns: 200 },
    );
    expect(server.store.log.head()).toBeGreaterThan(BEFORE_FIRST);
  });
});

/** Fields that have a meaning, or are left out of what is sent. */
const RESERVED = new Set([
  ...["version", "timestamp", "writeKey", "sentAt", "context", "integrations", "traits", "anonymousId"],
  ...["name", "category", "groupId", "previousId", "originalTimestamp"],
]);

test("coerce never throws, whatever a message is made of", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.oneof(fc.constantFrom(...RESERVED, "type", "userId", "messageId", "event", "properties"), key),
        json,
      ),
      json,
      (message, around) => {
        expect(() =>
          coerce(structuredClone(message), { context: around, integrations: around, sentAt: around }),
        ).not.toThrow();
      },
    ),
    { numRuns: 1_000 },
  );
});
