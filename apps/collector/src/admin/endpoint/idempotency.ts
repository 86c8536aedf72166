import { createHash } from "node:crypto";
import type { ConfigStore } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import type { EndpointAnswer } from "./endpoint.js";
import { type FirstPut, skipFirstPut, storeWithFirstPut } from "./first-write.js";

/** How long answers are kept. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
/** How often expired answers are deleted. */
const SWEEP_EVERY_MS = 60 * 60 * 1_000;
const KIND = "idempotency";
const MAX_KEY_LENGTH = 255;

type IdempotencyDocument = {
  readonly requestHash: string;
  readonly atMs: number;
} & (
  | {
      readonly status: number;
      /** Absent if the answer holds a secret that must not be stored. */
      readonly body?: object;
    }
  /** The request is in progress, or the collector ended before it answered. Stored together with the request's first write. */
  | { readonly first: FirstPut }
);

export interface KeyedRequest {
  /** The request's `Idempotency-Key`. */
  readonly key: string;
  /** Different tokens may use the same key for different requests. */
  readonly tokenId: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly isAnswerSecret: boolean;
}

type Run = (config: ConfigStore) => Promise<EndpointAnswer>;

/** Runs a request once per `Idempotency-Key`. A repeated request gets the first one's answer. */
export interface Idempotency {
  /** `run` must use the documents that it is given: its first write is stored together with the key. */
  once(request: KeyedRequest, run: Run): Promise<EndpointAnswer>;
}

export function idempotency(config: ConfigStore, clock: Clock): Idempotency {
  /** Requests in progress: a concurrent repetition waits for them. */
  const running = new Map<string, Promise<unknown>>();
  const sweep = sweeper(config, clock);

  const runOnce = async (id: string, request: KeyedRequest, run: Run): Promise<EndpointAnswer> => {
    const requestHash = hashRequest(request);
    const earlier = await findEarlier(config, id, clock.now());
    if (earlier !== undefined && earlier.requestHash !== requestHash)
      throw new CollectorError("conflict", "this Idempotency-Key was used for another request");
    if (earlier !== undefined && "status" in earlier) return repeatedAnswer(earlier.status, earlier.body);
    if (earlier !== undefined && request.isAnswerSecret) throw shownOnce();
    const documents =
      earlier !== undefined
        ? skipFirstPut(config, earlier.first)
        : storeWithFirstPut(config, (first) => ({
            kind: KIND,
            id,
            value: { requestHash, atMs: clock.now(), first } satisfies IdempotencyDocument,
          }));
    const answer = await run(documents);
    if (answer.isUnchanged) return answer;
    await config.put<IdempotencyDocument>(KIND, id, {
      requestHash,
      atMs: clock.now(),
      status: answer.status,
      ...storedBody(answer, request.isAnswerSecret),
    });
    await sweep();
    return earlier === undefined ? answer : { ...answer, headers: { ...answer.headers, ...REPLAYED } };
  };

  return {
    async once(request, run) {
      if (request.key === "" || request.key.length > MAX_KEY_LENGTH)
        throw new CollectorError(
          "invalid_request",
          `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters`,
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

/** Deletes expired answers, at most once an hour. */
function sweeper(config: ConfigStore, clock: Clock): () => Promise<void> {
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const nowMs = clock.now();
    if (nowMs - sweptAtMs < SWEEP_EVERY_MS) return;
    sweptAtMs = nowMs;
    for (const { id, value } of await config.list<IdempotencyDocument>(KIND))
      if (nowMs - value.atMs > KEPT_MS) await config.delete(KIND, id);
  };
}

async function findEarlier(
  config: ConfigStore,
  id: string,
  nowMs: number,
): Promise<IdempotencyDocument | undefined> {
  const earlier = (await config.get<IdempotencyDocument>(KIND, id))?.value;
  return earlier !== undefined && nowMs - earlier.atMs <= KEPT_MS ? earlier : undefined;
}

const REPLAYED = { "idempotent-replayed": "true" };

function repeatedAnswer(status: number, body: object | undefined): EndpointAnswer {
  if (body === undefined && status !== 204) throw shownOnce();
  return { status, headers: REPLAYED, ...(body === undefined ? {} : { body }) };
}

function storedBody({ kept, body }: EndpointAnswer, isAnswerSecret: boolean): { readonly body?: object } {
  const stored = kept ?? body;
  return stored === undefined || isAnswerSecret ? {} : { body: stored };
}

function shownOnce(): CollectorError {
  return new CollectorError(
    "conflict",
    "this request was already carried out, and its answer is shown only once",
  );
}

/** Includes the key, so that nobody can guess what a body said, such as which user was deleted. */
function hashRequest({ key, method, path, body }: KeyedRequest): string {
  return hash([key, method, path, body]);
}

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
