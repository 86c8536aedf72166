import { AdminUnreachable } from "@sluice/admin-client";
import { type ErrorBody, type IngestSuccess, RETRY_COUNT_HEADER } from "@sluice/protocol";
import { backoffDelayMs, parseRetryAfter, systemClock } from "@sluice/resilience";
import { CommandFailure } from "../failures/exit-codes.js";
import type { Io } from "../terminal/io.js";

export interface BatchRequest {
  readonly url: string;
  readonly writeKey: string;
  /** Messages, or their JSON. */
  readonly batch: readonly (object | string)[];
  /** `import` says that the messages are of the past. Default: `batch`. */
  readonly path?: "batch" | "import";
  readonly io: Io;
  /** How long it is tried again while the collector is busy, in milliseconds. Default: 60,000. */
  readonly patienceMs?: number;
  /** The same while nothing answers at all. Default: `patienceMs`. */
  readonly awayPatienceMs?: number;
  /** Told each time that it is tried again. */
  readonly onRetry?: (reason: string) => void;
}

const BACKOFF = { initialMs: 100, maxMs: 5_000 };
const REQUEST_TIMEOUT_MS = 30_000;

/** Sends one batch, again and again under the same message ids while that may help; the ids make it count once. */
export async function postBatch({
  url,
  writeKey,
  batch,
  path = "batch",
  io,
  patienceMs = 60_000,
  awayPatienceMs = patienceMs,
  onRetry,
}: BatchRequest): Promise<IngestSuccess> {
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
  const startMs = io.monotonic();
  for (let attempt = 0; ; attempt++) {
    const outcome = await postOnce(`${url}/v1/${path}`, authorization, batch, attempt, io);
    if (outcome.kind === "accepted") return outcome.answer;
    if (outcome.kind === "refused") throw outcome.failure;
    const delayMs = outcome.retryAfterMs ?? backoffDelayMs(attempt + 1, BACKOFF, systemClock.random());
    if (io.monotonic() + delayMs - startMs > (outcome.isAway ? awayPatienceMs : patienceMs))
      throw outcome.isAway
        ? new AdminUnreachable(url, outcome.reason)
        : new CommandFailure("failed", outcome.reason);
    onRetry?.(outcome.reason);
    await systemClock.sleep(delayMs, io.interrupted);
  }
}

type PostOutcome =
  | { readonly kind: "accepted"; readonly answer: IngestSuccess }
  | { readonly kind: "refused"; readonly failure: CommandFailure }
  | {
      readonly kind: "again";
      readonly reason: string;
      /** Nothing answers at all. */
      readonly isAway: boolean;
      readonly retryAfterMs?: number;
    };

async function postOnce(
  address: string,
  authorization: string,
  batch: readonly (object | string)[],
  attempt: number,
  io: Io,
): Promise<PostOutcome> {
  const messages = batch.map((message) => (typeof message === "string" ? message : JSON.stringify(message)));
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: {
        authorization,
        "content-type": "application/json",
        ...(attempt === 0 ? {} : { [RETRY_COUNT_HEADER]: String(attempt) }),
      },
      body: `{"batch":[${messages.join(",")}],"sentAt":"${new Date(io.now()).toISOString()}"}`,
      // An interruption stops further requests, not this one: its messages may be on disk already.
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      redirect: "manual",
    });
    const body = (await response.json().catch(() => ({}))) as Partial<IngestSuccess> & Partial<ErrorBody>;
    if (response.status === 200 && body.success === true)
      return { kind: "accepted", answer: { accepted: batch.length, ...body } as IngestSuccess };
    const reason = body.message ?? `The collector answered ${response.status}`;
    if (response.status === 429 || response.status >= 500 || response.status === 408) {
      const retryAfterMs = parseRetryAfter(response.headers.get("retry-after") ?? undefined, io.now());
      return {
        kind: "again",
        reason,
        isAway: false,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    }
    const isKey = response.status === 401 || response.status === 421;
    return { kind: "refused", failure: new CommandFailure(isKey ? "refused" : "failed", reason) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = (cause as NodeJS.ErrnoException).code;
    return { kind: "again", reason: code ?? String(cause), isAway: true };
  }
}
