/**
 * JSON in which no digit is lost: numbers that a double cannot hold (integers beyond 2^53, exponents beyond its
 * range) are kept as raw JSON and written out as they came in. Everything else is what `JSON.parse` makes of it.
 */
export function parseJson(text: string): unknown {
  return UNHOLDABLE.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/** A number may need care only with sixteen digits in a row or an exponent of three digits. May be inside a string: then we only lose time. */
const UNHOLDABLE = /\d{16}|[eE]\+?\d{3}/;

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  const isHeld = Number.isInteger(value)
    ? Number.isSafeInteger(value) || !/^-?\d+$/.test(context.source)
    : Number.isFinite(value);
  return isHeld ? value : rawJson(context.source);
}

/** `JSON.rawJSON`, which TypeScript's library does not know yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
