/** Parses JSON; integers that a double cannot hold become bigints, so that they can be compared digit by digit. */
export function parseExact(text: string): unknown {
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown;
  return parse(text, (_key, value, { source = "" }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}
