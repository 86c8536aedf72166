import type { FinalState, MessageQuery } from "@sluice/event-log";
import { EMPTY_FILTER, type FilterField, type MessageFilter, parseFilter } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";

/** Reads a filter of the debugger's grammar; throws `invalid_request` that says where it goes wrong. */
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

/** Those that always stand in the store: a message that waits, or is skipped by a disabled destination, may have none there yet. */
const STORED_OUTCOMES: readonly FinalState[] = ["delivered", "failed", "filtered", "suppressed"];

/**
 * What of a filter the store can look for itself. It may find more than the filter means, never less: terms that are
 * negated, prefixes, or given twice (either) are left to `matchesFilter`.
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
