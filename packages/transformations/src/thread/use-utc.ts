/**
 * Lets this thread's `Date` show UTC as local time. The VM asks it for the local time, and a result must not depend on where it runs; the
 * `TZ` of a process does not reach threads that are running.
 */
export function useUtc(): void {
  const own = Date.prototype as unknown as Record<string, unknown>;
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"])
    own[`get${part}`] = own[`getUTC${part}`];
  own.getTimezoneOffset = () => 0;
}
