import type { TransformCode, TransformItem } from "../src/index.js";

let made = 0;

/** Code with a key that no other has. */
export function codeOf(code: string, extra: Partial<TransformCode> = {}): TransformCode {
  made++;
  return { key: `tr_test@${made}`, code, language: "typescript", secrets: {}, ...extra };
}

export const TIME_MS = Date.UTC(2026, 4, 17, 9, 30);

export function itemOf(fields: object = {}, messageId = "m"): TransformItem {
  const message = { messageId, type: "track", event: "Order Completed", ...fields };
  return { messageId, timeMs: TIME_MS, json: JSON.stringify(message) };
}

/** Items whose `properties.n` counts from 0, with ids `m0`, `m1`, … */
export const itemsOf = (count: number): TransformItem[] =>
  Array.from({ length: count }, (_, n) => itemOf({ properties: { n } }, `m${n}`));
