import { expect } from "vitest";
import { findTexts, findWriteKey } from "../../../../packages/event-log/src/bytes/find-fields.js";
import {
  decodeUtf8,
  parseJson,
  parseKeepingDigits,
} from "../../../../packages/event-log/src/bytes/parse-json.js";
import { itemSpan, scanJson, withoutItems } from "../../../../packages/event-log/src/bytes/scan-json.js";
import {
  IRREGULAR,
  scanValue,
  skipWhitespace,
} from "../../../../packages/event-log/src/bytes/scan-values.js";
import { textTarget } from "../../engine/target.js";
import { sameJson } from "./same-json.js";

export const jsonText = textTarget({
  name: "json-text",
  rule: "parser and scanners of JSON agree with JSON.parse on every text, and no number loses a digit",
  runs: 3_000,
  alphabet: "bytes",
  dictionary: [
    ...[
      '"batch":[',
      '{"',
      '":',
      "\\u0062",
      "\\ud83d",
      "\\",
      "null",
      "true",
      "12345678901234567890",
      "1e400",
      "-0",
      "9007199254740993",
      "0.1e-7",
    ],
    ...['"writeKey":"wk"', '"__proto__":', "\xef\xbb\xbf", "\xc3\xa9", "\xed\xa0\x80", "[[", "]]", ",", " "],
  ],
  maxLength: 500,
  check(input) {
    const bytes = Buffer.from(input, "latin1");
    const text = decodeUtf8(bytes);
    const scan = scanJson(bytes, 5);
    for (let item = 0; item < scan.bounds.length - 1; item++) {
      const [start, end] = itemSpan(bytes, scan, item);
      expect(start <= end && end <= bytes.length).toBe(true);
    }
    findWriteKey(bytes, true);
    const parsed = text === undefined ? undefined : parsedOrError(text);
    const at = skipWhitespace(bytes, 0);
    const end = scanValue(bytes, at, 32);
    const isAccepted = end !== IRREGULAR && skipWhitespace(bytes, end) === bytes.length;
    if (text === undefined) return;
    if (isAccepted) expect(parsed).not.toBe("error");
    if (parsed === "error" || parsed === undefined) {
      expect(() => parseJson(text)).toThrow(SyntaxError);
      return;
    }
    sameJson(JSON.stringify(parseJson(text)), text);
    sameJson(JSON.stringify(parseKeepingDigits(text)), text);
    checkItems(bytes, parsed.value);
    checkTexts(bytes, parsed.value);
  },
});

function parsedOrError(text: string): { value: unknown } | "error" {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return "error";
  }
}

/** The scanner finds the items where they are, and takes out single ones. */
function checkItems(bytes: Buffer, value: unknown): void {
  const scan = scanJson(bytes, 1_000);
  expect(scan.isClosed).toBe(true);
  const batch = (value as { batch?: unknown } | null)?.batch;
  const items = !Array.isArray(value) && Array.isArray(batch) ? batch : [];
  expect(Math.max(0, scan.bounds.length - 1)).toBe(items.length);
  for (const [index, item] of items.entries())
    expect(JSON.parse(decodeUtf8(bytes.subarray(...itemSpan(bytes, scan, index))) ?? "")).toEqual(item);
  if (items.length === 0) return;
  const without = JSON.parse(decodeUtf8(withoutItems(bytes, scan, [0])) ?? "") as { batch: unknown[] };
  expect(without.batch).toEqual([null, ...items.slice(1)]);
}

function checkTexts(bytes: Buffer, value: unknown): void {
  const root =
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  const found = findTexts(bytes, new Set(["a", "event"]));
  for (const name of ["a", "event"]) {
    const own = Object.hasOwn(root, name) ? root[name] : undefined;
    if (typeof own === "string" && own.length < 100) expect(found[name], name).toBe(own);
  }
  const own = Object.hasOwn(root, "writeKey") ? root.writeKey : undefined;
  if (typeof own === "string" && own !== "" && own.length < 100) expect(findWriteKey(bytes, false)).toBe(own);
}
