import { echoRedactor, REDACTED } from "../destinations/webhooks/request/redact-echo.js";
import { isSetByCollector } from "../destinations/webhooks/request/request-headers.js";
import { MASK } from "../destinations/webhooks/settings/read-webhooks.js";
import type { KnownToken } from "../tokens/tokens.js";
import { HIDDEN } from "./audit.js";

/** A URL anywhere in a text: its origin, and the rest. */
const URL_IN_TEXT = /(https?:\/\/[^\s/?#"<>\\]+)([/?#\\][^\s"<>]*)/gi;
/** At the end of a URL they belong to the sentence around it. */
const PUNCTUATION = ":;,.)";
/** Fields whose value is a URL as a client sent it, possibly with whitespace. */
const URL_FIELDS: ReadonlySet<string> = new Set(["url", "webhookUrl"]);

/**
 * Masks URLs for a token with read access. Receivers that do not check signatures often have a secret in their URL's path or
 * query, so such a token sees only the origin. Applies to every text at any depth, because reasons, errors and responses
 * contain URLs too.
 */
export function maskUrls<T>({ access }: Pick<KnownToken, "access">, shown: T): T {
  return access === "full" ? shown : (masked(shown) as T);
}

/** `paths`: the paths of the attempt's URL, which receivers repeat without a host ("Cannot POST /hooks/…"). */
function masked(value: unknown, paths: readonly string[] = []): unknown {
  if (typeof value === "string")
    return paths.reduce((text, path) => text.replaceAll(path, "/…"), value.replace(URL_IN_TEXT, maskedUrl));
  if (Array.isArray(value)) return value.map((inner) => masked(inner, paths));
  if (typeof value !== "object" || value === null) return value;
  const inside = "url" in value && typeof value.url === "string" ? pathsOf(value.url) : paths;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name === "requestBody"
        ? [name, inner]
        : URL_FIELDS.has(name) && typeof inner === "string"
          ? [name, masked(asSent(inner))]
          : [name, masked(inner, inside)],
    ),
  );
}

/** Longest first. */
function pathsOf(typed: string): string[] {
  if (!URL.canParse(typed)) return [];
  const { pathname, search } = new URL(typed);
  return [pathname + search, pathname].filter((path) => path.length > 1);
}

function asSent(typed: string): string {
  return /^\s*https?:/i.test(typed) && URL.canParse(typed) ? new URL(typed).href : typed;
}

function maskedUrl(url: string, origin: string, rest: string): string {
  // A regular expression such as /[.,]*$/ would try every place of a long row of dots.
  let end = rest.length;
  while (end > 0 && PUNCTUATION.includes(rest[end - 1] ?? " ")) end--;
  return rest.slice(0, end) === "/" ? url : `${origin}/…${rest.slice(end)}`;
}

/**
 * Masks destinations and their attempts for a token with read access: it sees no values of custom headers, because only the
 * operator knows which of them are secret, and only the origins of URLs.
 */
export function maskFor<T>(token: Pick<KnownToken, "access">, shown: T): T {
  return token.access === "full" ? shown : maskUrls(token, withoutHeaderValues(shown) as T);
}

function withoutHeaderValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHeaderValues);
  if (!isRecord(value)) return value;
  const { requestHeaders } = value;
  const { response, responseHeaders, ...rest } = value;
  const shown = Object.fromEntries(
    Object.entries(rest).map(([name, inner]) => {
      if (name === "headers" && isRecord(inner)) return [name, maskedSettings(inner)];
      if (name === "requestHeaders" && isRecord(inner)) return [name, maskedRequest(inner)];
      return [name, withoutHeaderValues(inner)];
    }),
  );
  const sent = isRecord(requestHeaders) ? requestHeaders : {};
  return {
    ...shown,
    ...(response === undefined ? {} : { response: maskedResponse(response, sent) }),
    ...(isRecord(responseHeaders) ? { responseHeaders: withoutEchoes(responseHeaders, sent) } : {}),
  };
}

/** The headers in a webhook's settings. In the audit log they are hidden already. */
function maskedSettings(headers: object): object {
  return mapValues(headers, (_name, value) => (value === HIDDEN ? value : MASK));
}

/** The request headers of an attempt. */
function maskedRequest(headers: object): object {
  return mapValues(headers, (name, value) => (isSetByCollector(name) ? value : REDACTED));
}

/** A receiver may repeat the headers that were sent. */
function maskedResponse(response: unknown, sent: object): unknown {
  return typeof response === "string" ? withoutEcho(response, sent) : withoutHeaderValues(response);
}

function withoutEchoes(headers: object, sent: object): object {
  return mapValues(headers, (_name, value) => (typeof value === "string" ? withoutEcho(value, sent) : value));
}

function withoutEcho(response: string, headers: object): string {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    isSetByCollector(name) || typeof value !== "string" || value === REDACTED ? [] : [value],
  );
  return echoRedactor(values)(response);
}

function mapValues(object: object, change: (name: string, value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(name, value)]));
}

function isRecord(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
