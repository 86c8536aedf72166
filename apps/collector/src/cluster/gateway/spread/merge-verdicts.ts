import type { IngestSuccess } from "@sluice/protocol";
import { CollectorError } from "../../../errors.js";
import { errorAnswer } from "../../../http/connection/respond.js";
import type { HttpAnswer } from "../../../http/routing/route.js";
import { answerOf, type PartAnswer } from "../ask-owners.js";

/** What a partition answered to its part of a batch. */
export interface PartVerdict {
  readonly answer: Pick<PartAnswer, "status" | "body" | "retryAfter">;
  /** As in `BatchPart`. */
  readonly indexes: readonly number[] | undefined;
}

/**
 * The answers to the parts of a batch as one: what one collector would have answered to the whole. If only some of the messages are
 * stored, the client is asked to send all of them again: those that are stored are duplicates then.
 */
export function mergeVerdicts(verdicts: readonly PartVerdict[]): HttpAnswer {
  const refusals = verdicts.filter(({ answer }) => answer.status !== 200);
  if (refusals.length === 0) return { status: 200, body: mergedSuccess(verdicts) };
  const worst = refusals.reduce((one, other) => (rankOf(other) > rankOf(one) ? other : one)).answer;
  const retryAfter = Math.max(...refusals.map(({ answer }) => answer.retryAfter ?? 0));
  if (refusals.length === verdicts.length || !isTemporary(worst.status))
    return answerOf({ ...worst, ...(retryAfter > 0 ? { retryAfter } : {}) });
  const { message = "" } = (worst.body ?? {}) as { readonly message?: string };
  return errorAnswer(
    new CollectorError("partly_stored", message, {
      details: retryAfter > 0 ? { retryAfterSeconds: retryAfter } : {},
    }),
  );
}

function mergedSuccess(verdicts: readonly PartVerdict[]): IngestSuccess {
  let accepted = 0;
  let duplicates = 0;
  const rejected: NonNullable<IngestSuccess["rejected"]>[number][] = [];
  for (const { answer, indexes } of verdicts) {
    const part = answer.body as IngestSuccess;
    accepted += part.accepted;
    duplicates += part.duplicates ?? 0;
    for (const one of part.rejected ?? [])
      rejected.push({ ...one, index: indexes?.[one.index] ?? one.index });
  }
  rejected.sort((one, other) => one.index - other.index);
  return {
    success: true,
    accepted,
    ...(rejected.length === 0 ? {} : { rejected }),
    ...(duplicates === 0 ? {} : { duplicates }),
  };
}

/** What goes away by itself comes first: the client must not give up then. */
function rankOf({ answer: { status } }: PartVerdict): number {
  return isTemporary(status) ? 1_000 + status : status;
}

function isTemporary(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
