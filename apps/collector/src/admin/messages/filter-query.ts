import type { FinalState, MessageQuery } from "@sluice/event-log";
import { EMPTY_FILTER, type FilterField, type MessageFilter, parseFilter } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";

/** Parses a filter of the debugger. Throws `invalid_request` with the position of the mistake. */
export function readFilter(text: string | undefined): MessageFilter {
  if (text === undefined) return EMPTY_FILTER;
  const parsed = parseFilter(text);
  if (parsed.ok) return parsed.filter;
  throw new CollectorError("invalid_request", `q: ${parsed.issue.message}`, {
    details: { at: parsed.issue.at },
  });
}

const FIELD_OF_STORE: Readonly<
  Partial<Record<FilterField, "type" | "event" | "userId" | "messageId" | "sourceId">>
> = {
  type: "type",
  event: "event",
  user: "userId",
  id: "messageId",
  source: "sourceId",
};

/** The outcomes that are always in the store. A pending message, or one that a disabled destination skips, may have none there yet. */
const STORED_OUTCOMES: readonly FinalState[] = ["delivered", "failed", "filtered", "suppressed", "discarded"];

/**
 * The part of a filter that the store can search for. It finds at least the messages that match: terms that are negated,
 * prefixes, or given twice (which means either) are left to `matchesFilter`.
 */
export function storeQuery(filter: MessageFilter): MessageQuery {
  const query: { -readonly [K in keyof MessageQuery]: MessageQuery[K] } = {};
  for (const term of filter.terms) {
    if (term.negated || term.isPrefix) continue;
    if (term.kind === "text") query.text ??= term.value;
    if (term.kind !== "field") continue;
    const field = FIELD_OF_STORE[term.field];
    const outcome = STORED_OUTCOMES.find((state) => term.field === "outcome" && state === term.value);
    const isOnly =
      filter.terms.filter((other) => other.kind === "field" && other.field === term.field).length === 1;
    if (field !== undefined && isOnly) query[field] = term.value;
    if (outcome !== undefined && isOnly) query.outcome = outcome;
  }
  return query;
}
