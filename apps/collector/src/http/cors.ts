import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "./route.js";

/** What pages may send even if they do not ask: clients of all ages do. */
const ALLOWED_HEADERS = "authorization, content-type, content-encoding, x-retry-count";

/** A day; browsers cut it to what they like. */
const MAX_AGE_SECONDS = "86400";

type Headers = Readonly<Record<string, string>>;

/**
 * Headers that let a page of any origin read the answer, error answers too. Credentials are allowed because
 * `navigator.sendBeacon` always sends in that mode; we never set or read a cookie.
 */
export function corsHeaders(request: IncomingHttpHeaders): Headers {
  const { origin } = request;
  if (origin === undefined) return { vary: "Origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "Retry-After, X-RateLimit-Reset",
    vary: "Origin",
  };
}

/** The answer to a preflight of `route`. */
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
