import { expect } from "vitest";

/** Compares two JSON texts as values, with their large numbers digit by digit. A repeated key counts with its last value. */
export function sameJson(text: string, original: string): void {
  expect(JSON.parse(marked(text))).toEqual(JSON.parse(marked(original)));
}

/** Numbers in one spelling, those beyond a double's digits as text. By a tokenizer of its own: strings first, so that digits in them stay. */
function marked(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs, (token) =>
    token.startsWith('"') ? token : spelled(token),
  );
}

function spelled(token: string): string {
  const value = Number(token);
  if (!Number.isFinite(value)) return JSON.stringify(`#${token}`);
  const isLargeInteger = (digits: string): boolean => /^-?\d+$/.test(digits) && !Number.isSafeInteger(value);
  if (isLargeInteger(token)) return JSON.stringify(`#${token}`);
  // 1e16 is written with all of its digits, and -0 as 0.
  const written = JSON.stringify(value);
  return isLargeInteger(written) ? JSON.stringify(`#${written}`) : written;
}
