/** Common ISO 8601 forms: date alone or with time, `T` or a blank, any fraction, `Z`, `+00:00`, `+0000`, `+00` or none (UTC). */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,}))?)?\s?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** Milliseconds since the epoch of an ISO 8601 time in any common form; undefined when it is not one. */
export function parseTime(text: unknown): number | undefined {
  if (typeof text !== "string" || text.length > 64) return undefined;
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (mo < 1 || mo > 12 || d < 1 || d > daysIn(y, mo) || h > 24 || mi > 59 || s > 60) return undefined;
  if (h === 24 && (mi > 0 || s > 0)) return undefined;
  const ms = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"));
  const utc = new Date(0);
  utc.setUTCFullYear(y, mo - 1, d);
  utc.setUTCHours(h, mi, s, ms);
  return utc.getTime() - offsetMinutes(zone) * 60_000;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function offsetMinutes(zone: string | undefined): number {
  if (zone === undefined || zone === "Z" || zone === "z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)) * (zone.length > 3 ? 1 : 0);
  return zone.startsWith("-") ? -minutes : minutes;
}

/** ISO 8601 in UTC with milliseconds, the only form that goes out. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** A client whose clock differs from ours by more than this is corrected. */
const SKEW_TOLERANCE_MS = 5_000;
/** An explicit `timestamp` older than this is a historical import and stays as given. */
const HISTORICAL_AFTER_MS = 60 * 60 * 1_000;

/**
 * The time a message goes out with, in milliseconds since the epoch: `timestamp`, else `originalTimestamp`, else
 * receipt; corrected by the client's clock skew where `sentAt` shows one. Source: Segment's rule
 * `timestamp = receivedAt − (sentAt − originalTimestamp)`.
 */
export function resolveTime(
  message: { readonly timestamp?: unknown; readonly originalTimestamp?: unknown; readonly sentAt?: unknown },
  receivedAtMs: number,
): number {
  const explicitMs = parseTime(message.timestamp);
  const clientMs = explicitMs ?? parseTime(message.originalTimestamp);
  if (clientMs === undefined) return receivedAtMs;
  if (explicitMs !== undefined && explicitMs < receivedAtMs - HISTORICAL_AFTER_MS) return explicitMs;
  const sentAtMs = parseTime(message.sentAt);
  if (sentAtMs === undefined) return clientMs;
  const skewMs = receivedAtMs - sentAtMs;
  if (Math.abs(skewMs) <= SKEW_TOLERANCE_MS) return clientMs;
  const corrected = clientMs + skewMs;
  // A corrected time outside what a Date can hold comes from a nonsense clock: ours is the better guess.
  return Math.abs(corrected) <= 8.64e15 ? corrected : receivedAtMs;
}
