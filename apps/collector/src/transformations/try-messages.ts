import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { TransformationResult } from "@sluice/control-api";
import type { Sandboxes, TransformCode, TransformResult } from "@sluice/transformations";
import type { OutgoingMessage } from "../destinations/destination.js";
import { secretMask } from "./secret-mask.js";
import { transformInput } from "./transform-input.js";
import { withResult } from "./transformed.js";

/** Messages that cross into the sandbox together: few, because each may become many. */
const TOGETHER = 25;

/** What code does with messages, one after the other. The values of its secrets are masked in what it returns. Ends when the signal aborts. */
export async function* tryMessages(
  sandboxes: Pick<Sandboxes, "run">,
  code: TransformCode,
  messages: readonly OutgoingMessage[],
  signal: AbortSignal,
): AsyncGenerator<TransformationResult> {
  const mask = secretMask(Object.values(code.secrets));
  for (let at = 0; at < messages.length && !signal.aborted; at += TOGETHER) {
    const batch = messages.slice(at, at + TOGETHER);
    const results = await sandboxes.run(code, batch.map(transformInput));
    for (const [index, message] of batch.entries()) yield resultView(message, results[index], mask);
    // The results may take milliseconds to read, and others use the event loop too.
    await nextTurn();
  }
}

type Fields = TransformationResult["before"];

function resultView(
  message: OutgoingMessage,
  result: TransformResult | undefined,
  mask: <T>(value: T) => T,
): TransformationResult {
  if (result === undefined) throw new Error("the sandbox gave no result");
  const before = shown(message);
  const base = { messageId: message.messageId, before, logs: result.logs };
  switch (result.kind) {
    case "same":
      return { ...base, result: "same", after: [before] };
    case "dropped":
      return { ...base, result: "dropped" };
    case "failed": {
      const { code, line, column } = result;
      const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
      return { ...base, result: "failed", error: { code, message: result.message, ...place } };
    }
    case "messages": {
      const after = result.messages.map((one, index) =>
        mask(shown(withResult(message, one, result.isArray ? index + 1 : undefined))),
      );
      if (after.length === 0) return { ...base, result: "dropped" };
      const isSame = isDeepStrictEqual(after, [before]);
      return { ...base, result: isSame ? "same" : "changed", after };
    }
    default:
      return result satisfies never;
  }
}

/** A message as a function gets it: what it returned is shown as the next function would get it. */
function shown(message: OutgoingMessage): Fields {
  return JSON.parse(transformInput(message).json) as Fields;
}
