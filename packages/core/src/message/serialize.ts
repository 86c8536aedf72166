/**
 * JSON as the SDK sends it: a Date as ISO, NaN and ±Infinity as null, undefined left out (all three as `JSON.stringify`
 * does), BigInt and decimal objects as strings. Throws for a cycle, and whatever a getter or `toJSON` of the value throws.
 *
 * `JSON.stringify` with a replacer takes about four times as long as without, so one is used only for values that need it:
 * a BigInt makes the plain call throw; a decimal object (decimal.js, big.js, bignumber.js) without `toJSON` leaves a list of
 * digits and its sign, the key `s`, in the text. Looking for the bracket first costs a twentieth of looking for the key.
 */
export function serialize(value: object): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch {
    return JSON.stringify(value, withoutLoss);
  }
  return text.includes("[") && text.includes('"s":') ? JSON.stringify(value, withoutLoss) : text;
}

function withoutLoss(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return isDecimal(value) ? String(value) : value;
}

/** A sign `s`, an exponent `e`, and digits `c` (big.js, bignumber.js) or `d` (decimal.js): how the three keep a number. */
function isDecimal(value: unknown): value is object {
  if (typeof value !== "object" || value === null || !("s" in value) || !("e" in value)) return false;
  const digits = "d" in value ? value.d : "c" in value ? value.c : undefined;
  // The method tells a number from someone's own `{s, e, c}`.
  return Array.isArray(digits) && "toFixed" in value && typeof value.toFixed === "function";
}
