import type { KnownToken } from "./tokens.js";

/** A URL with a query, also in the middle of a sentence; what ends the sentence's part is not of the URL. */
const URL_WITH_QUERY = /(https?:\/\/[^\s?]+)\?\S*?(?=[:;,]?(?:\s|$))/gi;

/**
 * What a token may see of a destination: receivers that know no signatures are given a secret in their URL's query, which is for those
 * alone who may change it. Every text is looked at, at any depth, since reasons, errors and answers name URLs too.
 */
export function maskQueries<T>({ access }: Pick<KnownToken, "access">, shown: T): T {
  return access === "full" ? shown : (masked(shown) as T);
}

function masked(value: unknown): unknown {
  if (typeof value === "string") return value.replace(URL_WITH_QUERY, "$1?…");
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, masked(inner)]));
}
