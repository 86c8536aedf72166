import { AdminUnreachable } from "@sluice/admin-client";
import { type ErrorBody, type IngestSuccess, RETRY_COUNT_HEADER } from "@sluice/protocol";
import { backoffDelayMs, parseRetryAfter, systemClock } from "@sluice/resilience";
import { CommandFailure } from "../failures.js";
import type { Io } from "../terminal/io.js";

export interface BatchRequest {
  readonly url: string;
  readonly writeKey: string;
  /** Messages, or their JSON. */
  readonly batch: readonly (object | string)[];
  /** The endpoint: `import` marks the messages as historical. Default: `batch`. */
  readonly path?: "batch" | "import";
  /** Whether destinations get the messages. Default: true. */
  readonly deliver?: boolean;
  readonly io: Io;
  /** How long to retry while nothing responds, in milliseconds. Default: as while the collector is busy. */
  readonly unreachableTimeoutMs?: number;
  /** Called before each retry. */
  readonly onRetry?: (reason: string) => void;
}

const BACKOFF = { initialMs: 100, maxMs: 5_000 };
/** How long to retry while the collector is busy. */
const BUSY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 30_000;

/** Sends one batch, and retries with the same message ids while that can help. The collector counts each id once. */
export async function postBatch({
  url,
  writeKey,
  batch,
  path = "batch",
  deliver = true,
  io,
  unreachableTimeoutMs = BUSY_TIMEOUT_MS,
  onRetry,
}: BatchRequest): Promise<IngestSuccess> {
  const messages = batch.map((message) => (typeof message === "string" ? message : JSON.stringify(message)));
  const fields = deliver ? "" : `"deliver":false,`;
  const startMs = io.monotonic();
  for (let retries = 0; ; retries++) {
    const outcome = await postOnce(`${url}/v1/${path}`, writeKey, { fields, messages }, retries, io);
    if (outcome.kind === "accepted") return outcome.answer;
    if (outcome.kind === "refused") throw outcome.failure;
    const delayMs = outcome.retryAfterMs ?? backoffDelayMs(retries + 1, BACKOFF, systemClock.random());
    const timeoutMs = outcome.isUnreachable ? unreachableTimeoutMs : BUSY_TIMEOUT_MS;
    if (io.monotonic() + delayMs - startMs > timeoutMs)
      throw outcome.isUnreachable
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
      readonly kind: "retryable";
      readonly reason: string;
      /** There was no response at all. */
      readonly isUnreachable: boolean;
      readonly retryAfterMs?: number;
    };

async function postOnce(
  address: string,
  writeKey: string,
  { fields, messages }: { readonly fields: string; readonly messages: readonly string[] },
  retries: number,
  io: Io,
): Promise<PostOutcome> {
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
        "content-type": "application/json",
        ...(retries === 0 ? {} : { [RETRY_COUNT_HEADER]: String(retries) }),
      },
      body: `{${fields}"batch":[${messages.join(",")}],"sentAt":"${new Date(io.now()).toISOString()}"}`,
      // An interruption stops later requests, not this one: its messages may already be stored.
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      redirect: "manual",
    });
    return await outcomeOf(response, messages.length, io.now());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = (cause as NodeJS.ErrnoException).code;
    return { kind: "retryable", reason: code ?? String(cause), isUnreachable: true };
  }
}

async function outcomeOf(response: Response, messages: number, nowMs: number): Promise<PostOutcome> {
  const { status, headers } = response;
  // Rejects if the answer is cut off: the messages may be stored, and sending them again tells.
  const body = parsed(await response.text());
  if (status === 200 && body.success === true)
    return { kind: "accepted", answer: { accepted: messages, ...body } as IngestSuccess };
  const reason = body.message ?? `The collector responded with ${status}`;
  if (status === 429 || status >= 500 || status === 408) {
    const retryAfterMs = parseRetryAfter(headers.get("retry-after") ?? undefined, nowMs);
    return {
      kind: "retryable",
      reason,
      isUnreachable: false,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  const isWrongKey = status === 401 || status === 421;
  return {
    kind: "refused",
    failure: new CommandFailure(isWrongKey ? "refused" : "failed", reason, hintOf(status)),
  };
}

function parsed(text: string): Partial<IngestSuccess> & Partial<ErrorBody> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function hintOf(status: number): string | undefined {
  if (status === 401)
    return "`npx sluice sources list` shows the sources; `npx sluice sources get NAME` shows a source's write keys. Give one with --write-key or SLUICE_WRITE_KEY";
  return status === 421 ? "Give the address of the key's region with --url or SLUICE_URL" : undefined;
}
