import { echoRedactor, REDACTED } from "../../destinations/webhooks/request/redact-echo.js";
import { isSetByCollector } from "../../destinations/webhooks/request/request-headers.js";
import { MASK } from "../../destinations/webhooks/settings/read-webhooks.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { HIDDEN } from "../audit/redact.js";
import { maskUrls } from "./mask-urls.js";

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
