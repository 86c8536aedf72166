import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "./route.js";

/** Headers that pages may send even if the preflight does not ask for them. */
const ALLOWED_HEADERS = "authorization, content-type, content-encoding, x-request-id, x-retry-count";

/** A day. Browsers may shorten it. */
const MAX_AGE_SECONDS = "86400";

type Headers = Readonly<Record<string, string>>;

/**
 * Headers that let a page of any origin read the response, also an error response. They allow credentials because
 * `navigator.sendBeacon` always sends in that mode. The collector never sets or reads cookies.
 */
export function corsHeaders(request: IncomingHttpHeaders): Headers {
  const { origin } = request;
  if (origin === undefined) return { vary: "Origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "Retry-After, X-RateLimit-Reset, X-Request-Id",
    vary: "Origin",
  };
}

/** The headers of the response to a preflight request. */
export function preflightHeaders(request: IncomingHttpHeaders, route: Route): Headers {
  const asked = request["access-control-request-headers"];
  return {
    ...corsHeaders(request),
    "access-control-allow-methods": [...Object.keys(route.methods), "OPTIONS"].join(", "),
    "access-control-allow-headers":
      asked === undefined || asked === "" ? ALLOWED_HEADERS : `${ALLOWED_HEADERS}, ${asked}`,
    "access-control-max-age": MAX_AGE_SECONDS,
    vary: "Origin, Access-Control-Request-Headers",
  };
}
