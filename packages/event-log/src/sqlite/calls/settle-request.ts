import type { Attempt, FinalState, Outcome, Retry, Settlement } from "../../ports/consumers.js";

/** A settlement for the worker, as records of numbers. A text is its index in `strings`. */
export interface SettleRequest {
  readonly consumerId: string;
  readonly cursor: number;
  readonly nowMs: number;
  readonly strings: readonly string[];
  readonly outcomes: Float64Array<ArrayBuffer>;
  readonly attempts: Float64Array<ArrayBuffer>;
  readonly retries: readonly Retry[];
  readonly lanes?: NonNullable<Settlement["lanes"]>;
  /** As JSON. */
  readonly range?: string | null;
}

export const OUTCOME = { offset: 0, state: 1, reason: 2, atMs: 3, size: 4 } as const;

export const ATTEMPT = {
  offset: 0,
  attempt: 1,
  atMs: 2,
  latencyMs: 3,
  url: 4,
  address: 5,
  status: 6,
  errorCode: 7,
  errorMessage: 8,
  headers: 9,
  response: 10,
  replay: 11,
  responseHeaders: 12,
  transformation: 13,
  size: 14,
} as const;

/** The value of a field that is absent. */
export const ABSENT = -1;

export const FINAL_STATES: readonly FinalState[] = [
  "delivered",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
];

export function encodeSettlement(consumerId: string, settlement: Settlement, nowMs: number): SettleRequest {
  const strings: string[] = [];
  const places = new Map<string, number>();
  const placeOf = (text: string | undefined): number => {
    if (text === undefined) return ABSENT;
    const known = places.get(text);
    if (known !== undefined) return known;
    places.set(text, strings.length);
    strings.push(text);
    return strings.length - 1;
  };

  // Attempts at one URL mostly share one headers object, so it is serialized once.
  let lastHeaders: Attempt["requestHeaders"];
  let lastPlace: number = ABSENT;
  const headersPlace = (headers: Attempt["requestHeaders"]): number => {
    if (headers !== lastHeaders) {
      lastHeaders = headers;
      lastPlace = placeOf(headers === undefined ? undefined : JSON.stringify(headers));
    }
    return lastPlace;
  };

  const outcomes = new Float64Array(settlement.outcomes.length * OUTCOME.size);
  // In the log's order: the chunks become smaller, and sources are looked up once per row.
  inOrder(settlement.outcomes).forEach((outcome, i) => {
    const at = i * OUTCOME.size;
    outcomes[at + OUTCOME.offset] = outcome.offset;
    outcomes[at + OUTCOME.state] = FINAL_STATES.indexOf(outcome.state);
    outcomes[at + OUTCOME.reason] = placeOf(outcome.reason);
    outcomes[at + OUTCOME.atMs] = Math.round(outcome.atMs);
  });
  const attempts = new Float64Array(settlement.attempts.length * ATTEMPT.size);
  inOrder(settlement.attempts).forEach((attempt, i) => {
    const at = i * ATTEMPT.size;
    attempts[at + ATTEMPT.offset] = attempt.offset;
    attempts[at + ATTEMPT.attempt] = attempt.attempt;
    attempts[at + ATTEMPT.atMs] = Math.round(attempt.atMs);
    attempts[at + ATTEMPT.latencyMs] = attempt.latencyMs;
    attempts[at + ATTEMPT.url] = placeOf(attempt.url);
    attempts[at + ATTEMPT.address] = placeOf(attempt.address);
    attempts[at + ATTEMPT.status] = attempt.status ?? ABSENT;
    attempts[at + ATTEMPT.errorCode] = placeOf(attempt.error?.code);
    attempts[at + ATTEMPT.errorMessage] = placeOf(attempt.error?.message);
    attempts[at + ATTEMPT.headers] = headersPlace(attempt.requestHeaders);
    attempts[at + ATTEMPT.response] = placeOf(attempt.response);
    attempts[at + ATTEMPT.responseHeaders] = placeOf(
      attempt.responseHeaders && JSON.stringify(attempt.responseHeaders),
    );
    attempts[at + ATTEMPT.transformation] = placeOf(attempt.transformation);
    attempts[at + ATTEMPT.replay] = attempt.replay === undefined ? ABSENT : Number(attempt.replay);
  });
  return {
    consumerId,
    cursor: settlement.cursor,
    nowMs,
    strings,
    outcomes,
    attempts,
    retries: settlement.retries,
    ...(settlement.lanes === undefined ? {} : { lanes: settlement.lanes }),
    ...(settlement.range === undefined
      ? {}
      : { range: settlement.range && JSON.stringify(settlement.range) }),
  };
}

function inOrder<T extends Pick<Outcome | Attempt, "offset">>(items: readonly T[]): readonly T[] {
  for (let i = 1; i < items.length; i++) {
    if ((items[i - 1]?.offset ?? 0) > (items[i]?.offset ?? 0))
      return [...items].sort((a, b) => a.offset - b.offset);
  }
  return items;
}
