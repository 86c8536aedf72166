import type { DefinedDestination, DeliveryResult, OpenDestination } from "@sluice/destination";
import { webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { ResolveHost } from "../../sender/checked-connector.js";
import type { EgressPolicy } from "../../sender/egress-policy.js";
import type { Destination, DestinationType, OutgoingMessage, Round, RoundOutcome } from "../destination.js";
import { oneLine } from "../one-line.js";
import type { SecretBox } from "../secret-box.js";
import { echoRedactor, type RedactEcho } from "../webhooks/request/redact-echo.js";
import { checkedConnect } from "./checked-connect.js";
import { describeDefined, openedSettings, parseDefined } from "./defined-settings.js";

export interface DefinedDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressPolicy;
  readonly resolve: ResolveHost;
  readonly log: (level: "info" | "warn", text: string, fields: { readonly destinationType: string }) => void;
}

const TIMEOUT_MS = 30_000;
const MOST_REASON = 100;
const MOST_DETAIL = 1_000;

/** The destination type that a definition describes. The definition only sends; everything around it is done here. */
export function definedType({ definition }: DefinedDestination, deps: DefinedDeps): DestinationType {
  const { type, name, settings: schema, maxAgeMs, takesDeletions, timeoutMs = TIMEOUT_MS } = definition;
  return {
    type,
    name,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    mode: "cloud",
    sources: ["web", "mobile", "server"],
    historical: maxAgeMs === undefined ? { accepted: true } : { accepted: false, limitMs: maxAgeMs },
    takesDeletions: takesDeletions === "message",
    settingsSchema: schema,
    parseSettings: (input, previous) => parseDefined(definition, input, previous, deps.secrets),
    describe: (settings) => describeDefined(schema, settings),
    async open(stored) {
      const { settings, secretTexts } = openedSettings(schema, stored, deps.secrets);
      const redact = echoRedactor(secretTexts);
      const open = await definition.open(settings as never, {
        connect: checkedConnect({ policy: deps.egress, resolve: deps.resolve, timeoutMs }),
        now: deps.clock.now,
        log: (level, text) => deps.log(level, oneLine(redact(text), MOST_DETAIL), { destinationType: type }),
      });
      return new DefinedDestinationRunner(open, {
        clock: deps.clock,
        redact,
        timeoutMs,
        target: definition.target?.(settings as never) ?? `${type}:`,
        flow: definition.flow?.(settings as never) ?? { concurrency: 1, order: "none" },
      });
    },
  };
}

interface RunnerParts {
  readonly clock: Clock;
  readonly redact: RedactEcho;
  readonly timeoutMs: number;
  readonly target: string;
  readonly flow: Destination["flow"];
}

type Ended = DeliveryResult | { readonly kind: "aborted" };

/** Delivers by a definition: with a time limit, whatever the definition does. */
class DefinedDestinationRunner implements Destination {
  readonly flow: Destination["flow"];
  readonly #open: OpenDestination;
  readonly #parts: RunnerParts;
  readonly #underWay = new Set<(ended: Ended) => void>();

  constructor(open: OpenDestination, parts: RunnerParts) {
    this.#open = open;
    this.#parts = parts;
    this.flow = parts.flow;
  }

  async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    const { clock, target } = this.#parts;
    const atMs = clock.now();
    const startedMs = clock.monotonic();
    const trace = round.startTrace?.();
    const ended = await this.#attempt(message, round);
    const latencyMs = clock.monotonic() - startedMs;
    if (ended.kind === "aborted") {
      const error = { code: "aborted", message: "The collector stopped, or the destination was changed" };
      round.record({ atMs, url: target, latencyMs, error }, trace);
      return ended;
    }
    const { error, outcome } = this.#concluded(ended);
    round.record({ atMs, url: target, latencyMs, ...(error === undefined ? {} : { error }) }, trace);
    return outcome;
  }

  async close(): Promise<void> {
    for (const end of [...this.#underWay]) end({ kind: "aborted" });
    const { clock, timeoutMs } = this.#parts;
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(timeoutMs, late.resolve);
    await Promise.race([Promise.resolve(this.#open.close?.()).catch(() => {}), late.promise]);
    cancel();
  }

  /** One attempt. It ends at the time limit and at `close`, even if the definition does not listen to its signal. */
  async #attempt(message: OutgoingMessage, round: Round): Promise<Ended> {
    const { clock, timeoutMs } = this.#parts;
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
      return await Promise.race([this.#call(message, round, controller.signal), stopped.promise]);
    } finally {
      cancel();
      this.#underWay.delete(stop);
    }
  }

  async #call(message: OutgoingMessage, round: Round, signal: AbortSignal): Promise<Ended> {
    const { messageId: id, sourceId, timestamp } = message;
    try {
      const payload = webhookPayload(message.message, timestamp) as { readonly type: string };
      const result: unknown = await this.#open.deliver(
        { id, sourceId, timestamp, payload },
        { number: round.number, isLast: round.isLast, signal },
      );
      return isResult(result) ? result : { kind: "retry", ...BAD_RESULT };
    } catch (error) {
      const { code, name, message: text } = error as { code?: unknown; name?: unknown; message?: unknown };
      const reason = [code, name].find((word) => typeof word === "string") ?? "error";
      return { kind: "retry", reason: reason as string, detail: String(text ?? error) };
    }
  }

  #concluded(ended: DeliveryResult): {
    readonly outcome: RoundOutcome;
    readonly error?: { readonly code: string; readonly message: string };
  } {
    const { redact } = this.#parts;
    const reason = oneLine(redact(ended.reason), MOST_REASON);
    if (ended.kind === "delivered") return { outcome: { kind: "delivered", reason } };
    const error = { code: reason, message: oneLine(redact(ended.detail ?? ended.reason), MOST_DETAIL) };
    if (ended.kind === "failed") return { error, outcome: { kind: "failed", reason } };
    const { retryAfterMs, isReachable = false } = ended;
    const wait = retryAfterMs === undefined || !(retryAfterMs > 0) ? {} : { retryAfterMs };
    return {
      error,
      outcome: { kind: "retry", reason, ...wait, doneUrls: [], failedUrls: [], alive: isReachable },
    };
  }
}

const BAD_RESULT = {
  reason: "bad_result",
  detail: "deliver must resolve with { kind: delivered, retry or failed, reason: a text }",
} as const;

function isResult(value: unknown): value is DeliveryResult {
  const { kind, reason } = (value ?? {}) as { kind?: unknown; reason?: unknown };
  return (kind === "delivered" || kind === "retry" || kind === "failed") && typeof reason === "string";
}
