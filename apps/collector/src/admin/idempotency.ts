import { createHash } from "node:crypto";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../errors.js";
import type { ConfigStore } from "../store/store.js";
import type { EndpointAnswer } from "./endpoint.js";

/** How long an answer is kept for the same key. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
/** How often expired ones are looked for. */
const SWEEP_EVERY_MS = 60 * 60 * 1_000;
const KIND = "idempotency";
const LONGEST_KEY = 255;

interface IdempotencyDocument {
  readonly requestHash: string;
  readonly atMs: number;
  readonly status: number;
  /** Absent where the answer holds a secret that must not be stored. */
  readonly body?: object;
}

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
  once(request: KeyedRequest, run: () => Promise<EndpointAnswer>): Promise<EndpointAnswer>;
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
    run: () => Promise<EndpointAnswer>,
  ): Promise<EndpointAnswer> => {
    const requestHash = hash([request.method, request.path, request.body]);
    const earlier = await config.get<IdempotencyDocument>(KIND, id);
    if (earlier !== undefined && clock.now() - earlier.value.atMs <= KEPT_MS) {
      const { value } = earlier;
      if (value.requestHash !== requestHash)
        throw new CollectorError("conflict", "this Idempotency-Key was used with another request");
      if (value.body === undefined && value.status !== 204)
        throw new CollectorError("conflict", "it was done already, and its answer is shown only once");
      return {
        status: value.status,
        headers: { "idempotent-replayed": "true" },
        ...(value.body === undefined ? {} : { body: value.body }),
      };
    }
    const answer = await run();
    await config.put<IdempotencyDocument>(KIND, id, {
      requestHash,
      atMs: clock.now(),
      status: answer.status,
      ...(answer.body === undefined || request.isAnswerSecret ? {} : { body: answer.body }),
    });
    await sweep();
    return answer;
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

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
