import type { KnownToken } from "../../tokens/tokens.js";

/** A URL, also in the middle of a sentence or of a receiver's answer: its origin and what comes after that. */
const URL_IN_TEXT = /(https?:\/\/[^\s/?#"<>\\]+)([/?#\\][^\s"<>]*)/gi;
/** Ends the sentence's part, not the URL's. */
const PUNCTUATION = /[:;,.)]*$/;
/** Fields that are a URL, blanks and all, as a client typed it. */
const URL_FIELDS: ReadonlySet<string> = new Set(["url", "webhookUrl"]);

/**
 * What a token may see of a destination: receivers that know no signatures are given a secret in their URL's path or query, which is
 * for those alone who may change it; others see where it leads. Every text is looked at, at any depth, since reasons, errors and
 * answers name URLs too.
 */
export function maskUrls<T>({ access }: Pick<KnownToken, "access">, shown: T): T {
  return access === "full" ? shown : (masked(shown) as T);
}

/** `paths`: of the URL that the text is about, which receivers repeat without their host ("Cannot POST /hooks/…"). */
function masked(value: unknown, paths: readonly string[] = []): unknown {
  if (typeof value === "string")
    return paths.reduce((text, path) => text.replaceAll(path, "/…"), value.replace(URL_IN_TEXT, maskedUrl));
  if (Array.isArray(value)) return value.map((inner) => masked(inner, paths));
  if (typeof value !== "object" || value === null) return value;
  const inside = "url" in value && typeof value.url === "string" ? pathsOf(value.url) : paths;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      URL_FIELDS.has(name) && typeof inner === "string"
        ? [name, masked(asSent(inner))]
        : [name, masked(inner, inside)],
    ),
  );
}

/** The longest first. */
function pathsOf(typed: string): string[] {
  if (!URL.canParse(typed)) return [];
  const { pathname, search } = new URL(typed);
  return [pathname + search, pathname].filter((path) => path.length > 1);
}

function asSent(typed: string): string {
  return /^\s*https?:/i.test(typed) && URL.canParse(typed) ? new URL(typed).href : typed;
}

function maskedUrl(url: string, origin: string, rest: string): string {
  const after = PUNCTUATION.exec(rest)?.[0] ?? "";
  return rest.slice(0, rest.length - after.length) === "/" ? url : `${origin}/…${after}`;
}
