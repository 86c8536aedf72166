import type { JsonObject } from "@sluice/protocol";
import type { TransformFailure } from "../transform.js";

/** What a transformation cannot change: the log, traces and receivers know the message by it. */
const FIXED = ["messageId", "type", "receivedAt"] as const;

/** The id of the `n`-th message, from 1, of an array that a transformation returned. Repetitions get the same ids. */
export const resultId = (messageId: string, n: number): string => `${messageId}.${n}`;

/**
 * Gives results their ids, and back what they left out of the fields that cannot be changed. A result that changed one of them fails.
 * A single result keeps the id; of an array, also of one, each gets its own.
 */
export function identifyResults(
  original: JsonObject,
  messageId: string,
  results: readonly JsonObject[],
  isArray: boolean,
): { readonly messages: readonly JsonObject[] } | { readonly failure: TransformFailure } {
  const messages: JsonObject[] = [];
  for (const [index, result] of results.entries()) {
    const field = FIXED.find((one) => isChanged(original, result, one));
    if (field !== undefined)
      return { failure: { code: "bad_result", message: changed(field, isArray ? index : undefined) } };
    const left = FIXED.filter((one) => Object.hasOwn(original, one) && !Object.hasOwn(result, one));
    const message = { ...result, ...Object.fromEntries(left.map((one) => [one, original[one]])) };
    if (isArray) message.messageId = resultId(messageId, index + 1);
    messages.push(message);
  }
  return { messages };
}

/** Leaving a field out is no change. */
function isChanged(original: JsonObject, result: JsonObject, field: string): boolean {
  if (!Object.hasOwn(result, field)) return false;
  return !Object.hasOwn(original, field) || result[field] !== original[field];
}

function changed(field: string, index: number | undefined): string {
  const where = index === undefined ? "" : ` in element ${index} of the array`;
  const hint = field === "messageId" ? "; messages of an array get ids of their own" : "";
  return `The field ${field} cannot be changed${where}: leave it as it is, or out${hint}`;
}
