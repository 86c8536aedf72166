import type { JsonObject } from "@sluice/protocol";
import type { ThreadResult } from "../thread/answer.js";
import type { TransformItem, TransformResult } from "../transform.js";
import { identifyResults } from "./identify-results.js";
import { parseKeepingDigits } from "./keep-digits.js";

/** The result of one message, of what its thread answered. */
export function readResult(result: ThreadResult, { json, messageId }: TransformItem): TransformResult {
  if (result === "same") return { kind: "same", logs: [] };
  if (result.kind !== "texts") return result;
  const { logs, isArray } = result;
  const original = JSON.parse(json) as JsonObject;
  const results = result.texts.map((text) => parseKeepingDigits(text, json) as JsonObject);
  const identified = identifyResults(original, messageId, results, isArray);
  return "failure" in identified
    ? { kind: "failed", ...identified.failure, logs }
    : { kind: "messages", messages: identified.messages, isArray, logs };
}
