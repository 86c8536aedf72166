import { type JsonObject, LIMITS } from "@sluice/protocol";
import { SAME, type ThreadResult } from "./thread/answer.js";
import type { FixedFields, TransformFailure, TransformItem, TransformResult } from "./transform.js";

const FIXED = ["messageId", "type", "receivedAt"] as const;

/**
 * Gives results their ids, and back what they left out of the fields that cannot be changed. A result that changed one of them fails.
 * A single result keeps the id; of an array, also of one, each gets its own, which repetitions get too.
 */
export function identifyResults(
  fixed: FixedFields,
  results: readonly JsonObject[],
  isArray: boolean,
): TransformFailure | undefined {
  for (const [index, result] of results.entries()) {
    for (const field of FIXED) {
      if (!Object.hasOwn(result, field)) result[field] = fixed[field];
      else if (result[field] !== fixed[field])
        return { code: "bad_result", message: changed(field, isArray ? index : undefined) };
    }
    if (isArray) result.messageId = `${fixed.messageId}.${index + 1}`;
  }
  return undefined;
}

function changed(field: string, index: number | undefined): string {
  const where = index === undefined ? "" : ` in element ${index} of the array`;
  const hint = field === "messageId" ? "; messages of an array get ids of their own" : "";
  return `The field ${field} cannot be changed${where}: leave it as it is, or out${hint}`;
}

/**
 * A number that a way through a double may write differently: an exponent, many digits, zeros at the end or after the point, -0. Ids in
 * texts look alike, but not behind these marks.
 */
const OTHER_DIGITS = /[[,:]\s*(?:-?\d(?:[\d.]*[eE]|[\d.]{15}|\d*\.\d*0\b|\.0{6})|-0\b)/;

/** Whether `JSON.stringify` may write a number of the text with other digits. */
const mayHoldOtherDigits = (text: string): boolean => OTHER_DIGITS.test(text);

/** TypeScript's library does not declare these of JSON yet. */
const { parse, rawJSON } = JSON as unknown as {
  parse(
    text: string,
    revive: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
};

interface RawNumber {
  readonly rawJSON: string;
}

type Container = { [key: string]: unknown };

/**
 * Parses a result. Numbers of the original that a double cannot hold keep their digits wherever the result has, in the same place, what a
 * double made of them: they become raw JSON, which `JSON.stringify` writes as it came in.
 */
export function parseKeepingDigits(text: string, original: string): unknown {
  const result: unknown = JSON.parse(text);
  const { marked, raw } = parseMarking(original);
  if (raw.size === 0) return result;
  const pairs: [from: unknown, to: unknown][] = [[marked, result]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [from, to] = pair;
    if (!isContainer(from) || !isContainer(to) || Array.isArray(from) !== Array.isArray(to)) continue;
    for (const key of Object.keys(from).filter((one) => Object.hasOwn(to, one))) {
      const source = from[key];
      if (!raw.has(source)) pairs.push([source, to[key]]);
      else if (isSame(source as RawNumber, to[key])) setOwn(to, key, source);
    }
  }
  return result;
}

/** The original, in which numbers that a double cannot hold are raw JSON. */
function parseMarking(original: string): { marked: unknown; raw: ReadonlySet<unknown> } {
  const raw = new Set<unknown>();
  try {
    const marked = parse(original, (_key, value, { source }) => {
      if (typeof value !== "number" || source === undefined || String(value) === source) return value;
      const kept = rawJSON(source);
      raw.add(kept);
      return kept;
    });
    return { marked, raw };
  } catch (error) {
    // Nested more deeply than the parser goes when it calls back.
    if (error instanceof RangeError) return { marked: undefined, raw };
    throw error;
  }
}

/** Whether a double made this of the number: JSON has null for what is beyond its range. */
function isSame({ rawJSON: digits }: RawNumber, value: unknown): boolean {
  const number = Number(digits);
  return Number.isFinite(number) ? value === number : value === null;
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

/** Assigning to `__proto__` would set the prototype instead of a field. */
function setOwn(container: Container, key: string, value: unknown): void {
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The result of one message, of what its thread answered. */
export function readResult(result: ThreadResult, { json, fixed }: TransformItem): TransformResult {
  if (result === SAME) return { kind: "same", logs: [] };
  if (typeof result !== "string" && result.kind !== "texts") return result;
  const { texts, isArray, logs } =
    typeof result === "string" ? { texts: [result], isArray: false, logs: [] } : result;
  const hasOtherDigits = mayHoldOtherDigits(json);
  if (hasOtherDigits && !isArray && texts[0] === canonical(json)) return { kind: "same", logs };
  const tooLarge = sizeFailure(texts, isArray);
  if (tooLarge !== undefined) return { kind: "failed", ...tooLarge, logs };
  const messages = texts.map(
    (text) => (hasOtherDigits ? parseKeepingDigits(text, json) : JSON.parse(text)) as JsonObject,
  );
  const failure = identifyResults(fixed, messages, isArray);
  return failure === undefined ? { kind: "messages", messages, logs } : { kind: "failed", ...failure, logs };
}

/** The message as the VM writes it when nothing was changed. */
function canonical(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // Nested too deeply for this thread's stack.
    return undefined;
  }
}

function sizeFailure(texts: readonly string[], isArray: boolean): TransformFailure | undefined {
  for (const [index, text] of texts.entries()) {
    const bytes = Buffer.byteLength(text);
    if (bytes <= LIMITS.messageBytes) continue;
    const which = isArray ? `Element ${index} of the array` : "The message";
    const message = `${which} has ${bytes} bytes; at most ${LIMITS.messageBytes} are allowed`;
    return { code: "too_large", message };
  }
  return undefined;
}
