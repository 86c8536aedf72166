import type { Message } from "@sluice/transformations";

/** 13 to 19 digits, perhaps in groups. */
const NUMBER = /\b\d(?:[ -]?\d){12,18}\b/g;

/** Masks card numbers in all texts but the last four digits. Numbers with a wrong check digit stay. */
export default function maskCardNumbers(message: Message) {
  return mask(message) as Message;
}

function mask(value: unknown): unknown {
  if (typeof value === "string")
    return value.replace(NUMBER, (found) => (isCard(found) ? masked(found) : found));
  if (Array.isArray(value)) return value.map(mask);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "messageId" ? one : mask(one)]),
  );
}

const masked = (text: string): string => `${"*".repeat(12)}${text.replace(/\D/g, "").slice(-4)}`;

/** The check of Luhn. */
function isCard(text: string): boolean {
  const digits = [...text.replace(/\D/g, "")].map(Number).reverse();
  const sum = digits.reduce((total, digit, i) => {
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
