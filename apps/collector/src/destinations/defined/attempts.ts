import type { DeliveryResult } from "@sluice/destination";
import type { Clock } from "@sluice/resilience";
import type { Round, RoundAttempt, RoundOutcome } from "../destination.js";
import { oneLine } from "../one-line.js";
import type { RedactEcho } from "../webhooks/request/redact-echo.js";

export interface AttemptsOptions {
  readonly clock: Clock;
  readonly redact: RedactEcho;
  readonly timeoutMs: number;
  readonly target: string;
}

export type Ended<Result = DeliveryResult> = Result | DeliveryResult | { readonly kind: "aborted" };

/** What an attempt means for a message, and what is recorded of it. */
export interface Concluded {
  readonly outcome: RoundOutcome;
  readonly error?: { readonly code: string; readonly message: string };
  /** What arrived. */
  readonly detail?: string;
}

/** What is recorded of an attempt besides its time and place. */
export function recorded(
  { error, detail }: Pick<Concluded, "error" | "detail">,
  { isTest = false }: Pick<Round, "isTest">,
): Pick<RoundAttempt, "error" | "response"> {
  return {
    ...(error === undefined ? {} : { error }),
    // A text for every message would take as much room as the messages.
    ...(isTest && detail !== undefined ? { response: detail } : {}),
  };
}

/** The time and place of an attempt. */
export type Timed = Pick<RoundAttempt, "atMs" | "url" | "latencyMs">;

const MOST_REASON = 100;
const MOST_DETAIL = 1_000;

/** Calls a definition's functions: with a time limit, whatever they do. */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #underWay = new Set<(ended: { readonly kind: "aborted" }) => void>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** One attempt. It ends at the time limit and at `abort`, even if the definition does not listen to its signal. */
  async run<Result extends DeliveryResult>(
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<{ readonly ended: Ended<Result>; readonly timed: Timed }> {
    const { clock, timeoutMs, target } = this.#options;
    const atMs = clock.now();
    const startedMs = clock.monotonic();
    const controller = new AbortController();
    const stopped = Promise.withResolvers<Ended>();
    const stop = (ended: Ended): void => {
      stopped.resolve(ended);
      controller.abort();
    };
    const cancel = clock.after(timeoutMs, () =>
      stop({ kind: "retry", reason: "timeout", detail: `Not delivered within ${timeoutMs} ms` }),
    );
    this.#underWay.add(stop);
    try {
      const ended = await Promise.race([settled(() => call(controller.signal)), stopped.promise]);
      return { ended, timed: { atMs, url: target, latencyMs: clock.monotonic() - startedMs } };
    } finally {
      cancel();
      this.#underWay.delete(stop);
    }
  }

  abort(): void {
    for (const end of [...this.#underWay]) end({ kind: "aborted" });
  }

  conclude(ended: Ended): Concluded {
    const { redact } = this.#options;
    if (ended.kind === "aborted")
      return {
        outcome: ended,
        error: { code: "aborted", message: "The collector stopped, or the destination was changed" },
      };
    const reason = oneLine(redact(ended.reason), MOST_REASON);
    const detail = ended.detail === undefined ? undefined : oneLine(redact(ended.detail), MOST_DETAIL);
    if (ended.kind === "delivered")
      return { outcome: { kind: "delivered", reason }, ...(detail === undefined ? {} : { detail }) };
    const error = { code: reason, message: detail ?? oneLine(redact(ended.reason), MOST_DETAIL) };
    if (ended.kind === "failed") return { error, outcome: { kind: "failed", reason } };
    const { retryAfterMs, isReachable = false } = ended;
    const wait = retryAfterMs === undefined || !(retryAfterMs > 0) ? {} : { retryAfterMs };
    return {
      error,
      outcome: { kind: "retry", reason, ...wait, doneUrls: [], failedUrls: [], alive: isReachable },
    };
  }
}

async function settled<Result extends DeliveryResult>(call: () => Promise<Result>): Promise<Ended<Result>> {
  try {
    const result: unknown = await call();
    return isResult(result) ? (result as Result) : { kind: "retry", ...BAD_RESULT };
  } catch (error) {
    const { code, name, message: text } = error as { code?: unknown; name?: unknown; message?: unknown };
    const reason = [code, name].find((word) => typeof word === "string") ?? "error";
    return { kind: "retry", reason: reason as string, detail: String(text ?? error) };
  }
}

const BAD_RESULT = {
  reason: "bad_result",
  detail: "deliver must resolve with { kind: delivered, retry or failed, reason: a text }",
} as const;

export function isResult(value: unknown): value is DeliveryResult {
  const { kind, reason } = (value ?? {}) as { kind?: unknown; reason?: unknown };
  return (kind === "delivered" || kind === "retry" || kind === "failed") && typeof reason === "string";
}
