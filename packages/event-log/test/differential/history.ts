import fc from "fast-check";
import { anonymousIdentity, userIdentity } from "../../src/message/identity.js";
import type { Attempt, FinalState, Outcome, Retry } from "../../src/ports/consumers.js";
import type { MessageQuery } from "../../src/ports/event-log.js";
import type { PurgeQuery } from "../../src/ports/purging.js";
import type { TestMessage } from "../batches.js";

/**
 * One call of a store's ports, or a passage of time. Offsets are places in the log as it is then: 0 is the first message, and numbers
 * beyond the end begin again.
 */
export type Action =
  | { readonly do: "append"; readonly batches: readonly AppendedBatch[] }
  | { readonly do: "open"; readonly consumer: string; readonly startAfter: number }
  | {
      readonly do: "settle";
      readonly consumer: string;
      readonly cursor: number;
      readonly outcomes: readonly (Omit<Outcome, "offset" | "atMs"> & Place)[];
      readonly retries: readonly WaitingRetry[];
      readonly attempts: readonly (Omit<Attempt, "offset" | "atMs"> & Place)[];
      /** Its first message, if another range is sent from now on. */
      readonly range: number | null | undefined;
    }
  | {
      readonly do: "lease";
      readonly consumer: string;
      readonly limit: number;
      readonly leaseMs: number;
      readonly isRelease: boolean;
    }
  | { readonly do: "requeue"; readonly consumer: string; readonly retries: readonly WaitingRetry[] }
  | {
      readonly do: "retryNow";
      readonly consumer: string;
      readonly places: readonly number[];
      readonly states: readonly (FinalState | "pending")[];
    }
  | { readonly do: "remove"; readonly consumer: string }
  | { readonly do: "purge"; readonly query: PurgeQuery }
  | {
      readonly do: "put";
      readonly id: string;
      readonly value: unknown;
      readonly expected: number | undefined;
    }
  | { readonly do: "delete"; readonly id: string }
  | { readonly do: "reject"; readonly messageId: string; readonly userId: string }
  | { readonly do: "find"; readonly query: MessageQuery; readonly limit: number }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "restart" }
  | { readonly do: "clear" };

interface Place {
  readonly place: number;
}

export interface AppendedBatch {
  readonly sourceId: string;
  readonly messages: readonly (TestMessage & { readonly anonymousId?: string })[];
  readonly skipped: readonly number[];
}

/** Times count from the moment of the call. */
export type WaitingRetry = Omit<Retry, "offset" | "firstAttemptAtMs" | "dueAtMs" | "notBeforeMs"> &
  Place & { readonly agoMs: number; readonly inMs: number; readonly notBeforeInMs: number | undefined };

const messageId = fc.constantFrom("a", "b", "c", "d", "é", "A", "a\0");
const userId = fc.constantFrom("ann", "bob", "x", "ANN");
const anonymousId = fc.constantFrom("x", "n1");
const sourceId = fc.constantFrom("src_1", "src_2");
const consumer = fc.constantFrom("dst_1", "dst_1", "dst_2", "dst_3");
const place = fc.nat({ max: 40 });
const reason = fc.constantFrom("HTTP 500", "ok", "", "é", "waiting for x");
const url = fc.constantFrom("https://a.example/", "https://b.example/x");
const state = fc.constantFrom<FinalState>(
  "delivered",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
);

const message = fc
  .record(
    {
      messageId,
      who: fc.oneof(
        userId.map((id) => ({ userId: id })),
        anonymousId.map((id) => ({ userId: undefined, anonymousId: id })),
      ),
      type: fc.constantFrom("track", "page"),
      event: fc.constantFrom("A", "B"),
      text: fc.constantFrom("needle", "Straw"),
    },
    { requiredKeys: ["messageId", "who", "type", "event"] },
  )
  .map(({ who, ...rest }) => ({ ...rest, ...who }) as TestMessage);
const batch = fc
  .record({
    sourceId,
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    mask: fc.nat({ max: 15 }),
  })
  .map(({ mask, ...rest }) => ({
    ...rest,
    skipped: rest.messages.flatMap((_, index) => (mask === 1 << index ? [index] : [])),
  }));
const retry: fc.Arbitrary<WaitingRetry> = fc
  .record({
    place,
    rounds: fc.nat({ max: 3 }),
    agoMs: fc.nat({ max: 5_000 }),
    inMs: fc.constantFrom(0, 500, 1_000, 60_000),
    notBeforeInMs: fc.constantFrom(undefined, undefined, 0, 700),
    reason,
    doneUrls: fc.subarray(["https://a.example/", "https://b.example/x"]),
    urls: fc.constantFrom(undefined, [{ url: "https://b.example/x", rounds: 1 }]),
    replay: fc.boolean(),
    lane: fc.constantFrom(undefined, 3, 2 ** 53 - 1),
  })
  .map(({ urls, lane, ...rest }) => ({
    ...rest,
    ...(lane === undefined ? {} : { lane }),
    ...(urls === undefined ? {} : { urls: urls.map((one) => ({ ...one, dueAtMs: 7 })) }),
  }));
const outcome = fc.record({ place, state, reason });
const attempt = fc.record(
  {
    place,
    attempt: fc.integer({ min: 1, max: 4 }),
    url,
    latencyMs: fc.constantFrom(0, 12, 1.5),
    status: fc.constantFrom(200, 500),
    error: fc.constantFrom({ code: "timeout", message: "no answer to ann" }, { code: "reset", message: "é" }),
    response: fc.constantFrom("", "ann was here", "x".repeat(300)),
    requestHeaders: fc.constantFrom({ a: "b" }, {}),
    responseHeaders: fc.constantFrom({ shown: { a: "b" }, leftOut: 0 }, { shown: {}, leftOut: 2 }),
    replay: fc.boolean(),
    transformation: fc.constantFrom("Hash, version 1", "Hash, version 2"),
  },
  { requiredKeys: ["place", "attempt", "url", "latencyMs"] },
);
const purge: fc.Arbitrary<PurgeQuery> = fc.oneof(
  fc.record({ userId }),
  fc.record({ anonymousId }),
  fc.record({ sourceId, messageId }),
  fc
    .tuple(userId, anonymousId)
    .map(([user, anonymous]) => ({ identities: [userIdentity(user), anonymousIdentity(anonymous)] })),
);
const query: fc.Arbitrary<MessageQuery> = fc.record(
  {
    messageId,
    sourceId,
    userId,
    identity: anonymousId.map(anonymousIdentity),
    type: fc.constantFrom("track", "page"),
    event: fc.constantFrom("A", "B"),
    text: fc.constantFrom("needle", "STRAW", "ann"),
    outcome: state,
  },
  { requiredKeys: [] },
);

const some = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(values, { maxLength: 4 });

const weighted: readonly (readonly [weight: number, action: fc.Arbitrary<Action>])[] = [
  [8, fc.record({ do: fc.constant("append"), batches: fc.array(batch, { minLength: 1, maxLength: 3 }) })],
  [2, fc.record({ do: fc.constant("open"), consumer, startAfter: fc.integer({ min: -1, max: 3 }) })],
  [
    8,
    fc.record({
      do: fc.constant("settle"),
      consumer,
      cursor: place,
      outcomes: some(outcome),
      retries: some(retry),
      attempts: some(attempt),
      range: fc.option(fc.option(place), { nil: undefined }),
    }),
  ],
  [
    4,
    fc.record({
      do: fc.constant("lease"),
      consumer,
      limit: fc.integer({ min: 1, max: 3 }),
      leaseMs: fc.constantFrom(100, 5_000),
      isRelease: fc.boolean(),
    }),
  ],
  [3, fc.record({ do: fc.constant("requeue"), consumer, retries: some(retry) })],
  [
    3,
    fc.record({
      do: fc.constant("retryNow"),
      consumer,
      places: fc.uniqueArray(place, { maxLength: 4 }),
      states: fc.subarray(["failed", "pending", "delivered"] as const),
    }),
  ],
  [1, fc.record({ do: fc.constant("remove"), consumer })],
  [2, fc.record({ do: fc.constant("purge"), query: purge })],
  [
    2,
    fc.record({
      do: fc.constant("put"),
      id: fc.constantFrom("s1", "s2"),
      value: fc.jsonValue({ maxDepth: 2 }),
      expected: fc.constantFrom(undefined, 0, 1, 2),
    }),
  ],
  [1, fc.record({ do: fc.constant("delete"), id: fc.constantFrom("s1", "s2") })],
  [2, fc.record({ do: fc.constant("reject"), messageId, userId })],
  [4, fc.record({ do: fc.constant("find"), query, limit: fc.integer({ min: 1, max: 5 }) })],
  [4, fc.record({ do: fc.constant("advance"), ms: fc.constantFrom(1, 500, 1_000, 60_000) })],
  [1, fc.constant({ do: "restart" } as const)],
  [1, fc.constant({ do: "clear" } as const)],
] as readonly (readonly [number, fc.Arbitrary<Action>])[];

const action = fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** Calls of all ports in any order. The first ones give the others something to work on. */
export const history: fc.Arbitrary<readonly Action[]> = fc
  .tuple(weighted[0]?.[1] ?? action, fc.array(action, { minLength: 20, maxLength: 80, size: "max" }))
  .map(([first, rest]) => [first, { do: "open", consumer: "dst_1", startAfter: -1 }, ...rest]);
