import { formatTime, RETRY_COUNT_HEADER } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { contained } from "../errors.js";
import { type Batch, batchBody } from "../message/batch.js";
import type { Transport } from "../transport.js";
import { exchange } from "../transport.js";
import { classifyResponse } from "./classify-response.js";
import type { Instrument } from "./instrument.js";
import type { AttemptOutcome } from "./outcome.js";
import type { Sender } from "./sender.js";

/** One attempt to send a batch, as the event `request` describes it. */
export interface RequestReport {
  /** From 1. */
  readonly attempt: number;
  readonly messages: number;
  /** Size of the body before compression. */
  readonly bytes: number;
  /** The HTTP status, or -1 if no answer came. */
  readonly status: number;
  /** Why it failed. Absent if it succeeded. */
  readonly reason?: string | undefined;
  readonly durationMs: number;
}

export interface HttpSenderOptions {
  readonly url: string;
  readonly writeKey: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly transport: Transport;
  readonly clock: Clock;
  /** Absent: bodies are not compressed. */
  readonly gzip?: ((text: string) => Promise<Uint8Array>) | undefined;
  readonly instrument?: Instrument | undefined;
  /** Called after each request. */
  readonly onRequest: (report: RequestReport) => void;
}

/** Sends each batch in one HTTP request. */
export function httpSender(options: HttpSenderOptions): Sender<AttemptOutcome> {
  const { url, timeoutMs, transport, clock, gzip, instrument, onRequest } = options;
  const baseHeaders = {
    authorization: `Basic ${base64(`${options.writeKey}:`)}`,
    "content-type": "application/json",
    "user-agent": options.userAgent,
  };

  return {
    async send(batch, signal, attempt = 1) {
      const startedMs = clock.monotonic();
      const text = batchBody(batch, formatTime(clock.now()));
      const bytes = byteSizeOf(batch, text);
      const headers: Record<string, string> = { ...baseHeaders };
      if (attempt > 1) headers[RETRY_COUNT_HEADER.toLowerCase()] = String(attempt - 1);
      const end = contained(instrument, { url, attempt, messages: batch.length, bytes, headers });

      // Some runtimes cannot compress: the body then goes as it is.
      const body = gzip ? await gzip(text).catch(() => text) : text;
      if (typeof body !== "string") headers["content-encoding"] = "gzip";
      const request = { url, method: "POST", headers, body } as const;
      const outcome = classifyResponse(
        await exchange(transport, request, clock, timeoutMs, signal),
        clock.now(),
      );

      const { status } = outcome;
      const reason = outcome.kind === "delivered" ? undefined : outcome.reason;
      if (typeof end === "function") contained(end as (end: object) => void, { status, reason });
      const durationMs = clock.monotonic() - startedMs;
      onRequest({ attempt, messages: batch.length, bytes, status, reason, durationMs });
      return outcome;
    },
  };
}

/** The messages were measured when they were accepted, and the rest of the body is ASCII. */
function byteSizeOf(batch: Batch, text: string): number {
  let bytes = text.length;
  for (const message of batch) bytes += message.bytes - message.json.length;
  return bytes;
}

function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
