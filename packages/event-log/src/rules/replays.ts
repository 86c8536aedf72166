import type { Offset } from "../message/offset.js";
import type { Retry } from "../ports/consumers.js";

/** The retry of a settled message that is sent again. */
export function newReplay(offset: Offset, dueAtMs: number): Retry {
  return {
    offset,
    rounds: 0,
    firstAttemptAtMs: dueAtMs,
    dueAtMs,
    reason: "replay",
    doneUrls: [],
    replay: true,
  };
}

/** The retry with another due time, at every URL. It keeps its attempts, and the retry window keeps its start. */
export function dueAt(dueAtMs: number, { notBeforeMs: _, ...retry }: Retry): Retry {
  const urls = retry.urls?.map((url) => ({ ...url, dueAtMs }));
  return { ...retry, dueAtMs, ...(urls === undefined ? {} : { urls }) };
}
