const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** `Sun, 06 Nov 1994 08:49:37 GMT` and the obsolete `Sunday, 06-Nov-94 08:49:37 GMT`. */
const DAY_FIRST =
  /^[a-z]{3,9},\s+(\d{1,2})[\s-]([a-z]{3})[\s-](\d{4}|\d{2})\s+(\d{2}):(\d{2}):(\d{2})\s+(?:GMT|UTC)$/i;

/** The format of C's asctime, which means UTC in HTTP: `Sun Nov  6 08:49:37 1994`. */
const MONTH_FIRST = /^[a-z]{3}\s+([a-z]{3})\s+(\d{1,2})\s+(\d{2}):(\d{2}):(\d{2})\s+(\d{4})$/i;

/**
 * The wait that a `Retry-After` value asks for, in milliseconds from `nowMs`. 0 for a time in the past, undefined for values that RFC 9110
 * (section 10.2.3) does not define.
 */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | undefined {
  const text = value?.trim();
  if (!text) return undefined;
  // The standard has only whole seconds, but some servers send "1.5".
  if (/^\d+(\.\d+)?$/.test(text)) {
    const ms = Math.ceil(Number(text) * 1_000);
    return Number.isSafeInteger(ms) ? ms : undefined;
  }
  const atMs = httpDateMs(text, nowMs);
  return atMs === undefined ? undefined : Math.max(0, atMs - nowMs);
}

function httpDateMs(text: string, nowMs: number): number | undefined {
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst) {
    const [, day, month, year, hour, minute, second] = dayFirst;
    return utcMs(fullYear(String(year), nowMs), String(month), day, hour, minute, second);
  }
  const monthFirst = MONTH_FIRST.exec(text);
  if (monthFirst) {
    const [, month, day, hour, minute, second, year] = monthFirst;
    return utcMs(Number(year), String(month), day, hour, minute, second);
  }
  return undefined;
}

/** RFC 9110: a two-digit year that would be more than 50 years in the future is in the past. */
function fullYear(year: string, nowMs: number): number {
  if (year.length === 4) return Number(year);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const sameCentury = thisYear - (thisYear % 100) + Number(year);
  return sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury;
}

function utcMs(year: number, month: string, ...rest: (string | undefined)[]): number | undefined {
  const monthIndex = MONTHS.indexOf(month.toLowerCase());
  const [day = 0, hour = 0, minute = 0, second = 0] = rest.map(Number);
  if (monthIndex < 0 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return undefined;
  return Date.UTC(year, monthIndex, day, hour, minute, second);
}
