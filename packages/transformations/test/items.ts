import type { TransformCode, TransformItem } from "../src/index.js";

let made = 0;

/** Code with a key that no other has. */
export function codeOf(code: string, extra: Partial<TransformCode> = {}): TransformCode {
  made++;
  return { key: `tr_test@${made}`, code, language: "typescript", secrets: {}, ...extra };
}

export const TIME_MS = Date.UTC(2026, 4, 17, 9, 30);

export const fixedOf = (messageId: string): TransformItem["fixed"] => ({
  messageId,
  type: "track",
  receivedAt: "2026-05-17T09:30:01.000Z",
});

export function itemOf(fields: { readonly [name: string]: unknown } = {}, messageId = "m"): TransformItem {
  const fixed = {
    ...fixedOf(messageId),
    ...(fields.type === undefined ? {} : { type: String(fields.type) }),
  };
  const message = { ...fixed, event: "Order Completed", ...fields };
  return { fixed, timeMs: TIME_MS, json: JSON.stringify(message) };
}

/** Items whose `properties.n` counts from 0, with ids `m0`, `m1`, … */
export const itemsOf = (count: number): TransformItem[] =>
  Array.from({ length: count }, (_, n) => itemOf({ properties: { n } }, `m${n}`));
