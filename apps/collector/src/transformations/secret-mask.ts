/** Shorter values occur in many texts by chance. */
const SHORTEST_MASKED = 4;
const MASK = "[secret]";

/** Replaces secrets in all texts of a value. */
export function secretMask(secrets: readonly string[]): <T>(value: T) => T {
  const hidden = secrets
    .filter((secret) => secret.length >= SHORTEST_MASKED)
    // Longest first, because one may be part of another.
    .sort((one, other) => other.length - one.length);
  const masked = (value: unknown): unknown => {
    if (typeof value === "string") return hidden.reduce((text, one) => text.replaceAll(one, MASK), value);
    if (Array.isArray(value)) return value.map(masked);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [masked(name), masked(inner)]));
  };
  return <T>(value: T): T => (hidden.length === 0 ? value : (masked(value) as T));
}
