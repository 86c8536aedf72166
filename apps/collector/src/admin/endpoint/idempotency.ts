import { createHash } from "node:crypto";
import type { ConfigStore } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import type { EndpointAnswer } from "./endpoint.js";
import { type FirstPut, putBefore, putTogether } from "./first-write.js";

/** How long an answer is kept for the same key. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
/** How often expired ones are looked for. */
const SWEEP_EVERY_MS = 60 * 60 * 1_000;
const KIND = "idempotency";
const LONGEST_KEY = 255;

type IdempotencyDocument = {
  readonly requestHash: string;
  readonly atMs: number;
} & (
  | {
      readonly status: number;
      /** Absent where the answer holds a secret that must not be stored. */
      readonly body?: object;
    }
  /** It is under way, or the collector ended before it was answered: its first write is stored, in one transaction with this. */
  | { readonly first: FirstPut }
);

export interface KeyedRequest {
  /** The request's `Idempotency-Key`. */
  readonly key: string;
  /** Keys of different tokens are different keys. */
  readonly tokenId: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly isAnswerSecret: boolean;
}

/** Runs a request once for each `Idempotency-Key`: a repeated one gets the first one's answer. */
export interface Idempotency {
  /** `run` is to work with the documents that it is given: with its first write it is remembered that it was done. */
  once(request: KeyedRequest, run: (config: ConfigStore) => Promise<EndpointAnswer>): Promise<EndpointAnswer>;
}

export function idempotency(config: ConfigStore, clock: Clock): Idempotency {
  /** Requests under way: a repetition that arrives meanwhile waits for them. */
  const running = new Map<string, Promise<unknown>>();
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const sweep = async (): Promise<void> => {
    const nowMs = clock.now();
    if (nowMs - sweptAtMs < SWEEP_EVERY_MS) return;
    sweptAtMs = nowMs;
    for (const { id, value } of await config.list<IdempotencyDocument>(KIND))
      if (nowMs - value.atMs > KEPT_MS) await config.delete(KIND, id);
  };

  const runOnce = async (
    id: string,
    request: KeyedRequest,
    run: (config: ConfigStore) => Promise<EndpointAnswer>,
  ): Promise<EndpointAnswer> => {
    // The key is in it so that nobody can find out by trying what a body said, such as which user was deleted.
    const requestHash = hash([request.key, request.method, request.path, request.body]);
    const earlier = (await config.get<IdempotencyDocument>(KIND, id))?.value;
    const isKnown = earlier !== undefined && clock.now() - earlier.atMs <= KEPT_MS;
    if (isKnown && earlier.requestHash !== requestHash)
      throw new CollectorError("conflict", "this Idempotency-Key was used with another request");
    if (isKnown && "status" in earlier) return answeredBefore(earlier.status, earlier.body);
    if (isKnown && request.isAnswerSecret) throw shownOnce();
    const documents =
      isKnown && "first" in earlier
        ? putBefore(config, earlier.first)
        : putTogether(config, (first) => ({
            kind: KIND,
            id,
            value: { requestHash, atMs: clock.now(), first } satisfies IdempotencyDocument,
          }));
    const answer = await run(documents);
    if (answer.isUnchanged) return answer;
    const kept = answer.kept ?? answer.body;
    await config.put<IdempotencyDocument>(KIND, id, {
      requestHash,
      atMs: clock.now(),
      status: answer.status,
      ...(kept === undefined || request.isAnswerSecret ? {} : { body: kept }),
    });
    await sweep();
    return isKnown ? { ...answer, headers: { ...answer.headers, ...REPLAYED } } : answer;
  };

  return {
    async once(request, run) {
      if (request.key === "" || request.key.length > LONGEST_KEY)
        throw new CollectorError(
          "invalid_request",
          `Idempotency-Key must have 1 to ${LONGEST_KEY} characters`,
        );
      const id = hash([request.tokenId, request.key]);
      while (running.has(id)) await running.get(id)?.catch(() => {});
      const done = runOnce(id, request, run);
      running.set(id, done);
      try {
        return await done;
      } finally {
        running.delete(id);
      }
    },
  };
}

const REPLAYED = { "idempotent-replayed": "true" };

function answeredBefore(status: number, body: object | undefined): EndpointAnswer {
  if (body === undefined && status !== 204) throw shownOnce();
  return { status, headers: REPLAYED, ...(body === undefined ? {} : { body }) };
}

function shownOnce(): CollectorError {
  return new CollectorError("conflict", "it was done already, and its answer is shown only once");
}

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
