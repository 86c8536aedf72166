/** The UTC day that a time falls into, as `2026-11-21`. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
