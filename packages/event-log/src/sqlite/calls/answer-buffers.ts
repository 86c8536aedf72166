import type { CallAnswer } from "./operations.js";

/** The buffers of rows and of parts of a snapshot, which are transferred and not copied. Each has its own. */
export function buffersOfAnswer(answer: CallAnswer): ArrayBuffer[] {
  if (answer.kind !== "done") return [];
  if (answer.answer instanceof Uint8Array) return [answer.answer.buffer as ArrayBuffer];
  const { rows = [] } = (answer.answer ?? {}) as {
    rows?: readonly { meta: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }[];
  };
  return rows.flatMap(({ meta, body }) => [meta.buffer, body.buffer]);
}
