import { isPlainObject } from "./messages/coerce.js";

/** The trace that a message belongs to: W3C Trace Context, from the message's `context`. */
export interface TraceContext {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** The span in which the call was made. 16 lower-case hex digits. */
  readonly spanId: string;
  /** Whether the caller records the trace. */
  readonly isSampled: boolean;
  /** The values of the headers. */
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
const MOST_MEMBERS = 32;
const MOST_CHARACTERS = 512;

/**
 * Reads `traceparent` and `tracestate` of a message's `context`. Clients choose both, and they become headers: anything but a valid
 * `traceparent` of version 00 counts as absent, and so does an invalid `tracestate`.
 */
export function readTraceContext(context: unknown): TraceContext | undefined {
  if (!isPlainObject(context)) return undefined;
  const { traceparent, tracestate } = context;
  if (typeof traceparent !== "string") return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
    traceparent,
    ...(isTracestate(tracestate) ? { tracestate } : {}),
  };
}

function isTracestate(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MOST_CHARACTERS) return false;
  const members = value.split(",");
  return members.length <= MOST_MEMBERS && members.every((member) => MEMBER.test(member.trim()));
}
