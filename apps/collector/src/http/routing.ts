import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { CollectorError } from "../errors.js";

/** A request as handlers see it. */
export interface HttpRequest {
  readonly method: string;
  /** The path, without query. */
  readonly path: string;
  /** The values of the pattern's `:names`, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The parameters of the query string, parsed on first use. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  /** The host names under which the client reached the collector: of the `Host` header, then of a trusted proxy. */
  readonly hosts: readonly string[];
  /** Scheme, host and port under which the client reached the collector. Throws `invalid_request` if the headers do not say it. */
  readonly origin: string;
  /** Whether the client is on this machine, without a proxy in between. */
  readonly isLocal: boolean;
  /** Aborts when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
  /** Call it when the request has shown a valid key or token: its body no longer counts to the small share of memory for requests without. */
  vouch(): void;
  /** Reads a body of at most `limitBytes` to its end and drops it. Rejects like `readBody`. */
  dropBody(limitBytes: number): Promise<void>;
  /** Reads and decompresses a body of at most `limitBytes`; rejects with a `CollectorError` (413, 415, 400, 408, 503) otherwise. */
  readBody(limitBytes: number): Promise<Uint8Array>;
}

/** The result of a handler. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is written as JSON; bytes and strings as they are (set `content-type` then). */
  readonly body?: object | string | Uint8Array;
  /**
   * Instead of a body: called with a writer once the head is sent. The response ends when the promise settles. The writer returns
   * false if the client does not keep up; `drained` then resolves when it has caught up or disconnected.
   */
  readonly stream?: (
    write: (chunk: string | Uint8Array) => boolean,
    signal: AbortSignal,
    drained: () => Promise<void>,
  ) => Promise<void>;
}

export type Handler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

/** A path and its handlers. The server responds with 405 to other methods, and handles OPTIONS itself. */
export interface Route {
  /** `/v1/batch`, `/api/v1/sources/:id`; matches with and without a trailing slash. */
  readonly path: string;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>>;
  /** It is the page for addresses that do not exist: only browsers that ask for a page get it, others a JSON 404. Default: false. */
  readonly isNotFoundPage?: boolean;
  /** Whether pages of any origin may call it (the ingestion API). Default: false. */
  readonly cors?: boolean;
}

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

interface HostCheckOptions {
  /** The address on which the server listens. */
  readonly listensOn: string;
  /** The routes have an address of their own: the check always applies. Default: false. */
  readonly isSeparate?: boolean;
  /** Allowed names: `events.example.com`, `*.example.com`, `*` for all. */
  readonly allowedHosts: readonly string[];
}

/**
 * Wraps routes so that they respond only if the `Host` header names this machine, or an allowed name. Otherwise a web page could let
 * its own name resolve to this machine (DNS rebinding) and read the responses. The name that a trusted proxy says must be allowed too;
 * it does not replace the `Host` header, because such a page can send any other header. The check applies if the server listens on
 * loopback, the routes have an address of their own, or `allowedHosts` is set: in other cases the collector does not know its names.
 */
export function checkHosts(routes: readonly Route[], options: HostCheckOptions): readonly Route[] {
  const { listensOn, isSeparate = false, allowedHosts } = options;
  const isChecked = isSeparate || allowedHosts.length > 0 || isLoopback(listensOn);
  if (!isChecked || allowedHosts.includes("*")) return routes;
  return routes.map((route) => ({ ...route, methods: checkedMethods(route.methods, allowedHosts) }));
}

function checkedMethods(methods: Route["methods"], allowedHosts: readonly string[]): Route["methods"] {
  const checked = (handler: Handler): Handler => {
    return (request) => {
      const foreign = request.hosts.find((host) => !isAllowedHost(host, allowedHosts));
      if (foreign === undefined) return handler(request);
      throw new CollectorError(
        "host_not_allowed",
        `${foreign.slice(0, 100)}: if this name is yours, add it to the setting allowedHosts (SLUICE_ALLOWED_HOSTS)`,
      );
    };
  };
  return Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, checked(handler)]));
}

/** Whether a `Host` header is an address, `localhost`, or an allowed name: no foreign name can be one of these. The port does not matter. */
export function isAllowedHost(header: string, allowedHosts: readonly string[]): boolean {
  const name = hostName(header);
  if (isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost")) return true;
  return allowedHosts.some((allowed) => {
    const wanted = hostName(allowed);
    return wanted.startsWith("*.") ? name.endsWith(wanted.slice(1)) : name === wanted;
  });
}

/** In lower case, without port, brackets, and trailing dot. */
function hostName(header: string): string {
  const bare = /^\[([^\]]*)\](?::\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, "");
  return bare.toLowerCase().replace(/\.$/, "");
}

/** Whether an address, or a `Host` header, is of the loopback interface. */
export function isLoopback(address: string): boolean {
  const name = isIP(address) === 6 ? address : hostName(address);
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export type Router = (path: string) => RouteMatch | undefined;

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Finds the route of a path, with or without a trailing slash. Fixed paths win over patterns; of those the first listed wins. */
export function createRouter(routes: readonly Route[]): Router {
  const fixed = new Map<string, RouteMatch>();
  const patterns: { readonly route: Route; readonly segments: readonly string[] }[] = [];
  for (const route of routes) {
    if (route.path.includes("/:") || route.path.endsWith("/*")) {
      patterns.push({ route, segments: route.path.split("/") });
      continue;
    }
    const path = withoutTrailingSlash(route.path);
    if (fixed.has(path)) throw new Error(`Two routes have the path ${path}`);
    fixed.set(path, { route, params: NO_PARAMS });
  }
  return (path) => {
    const wanted = withoutTrailingSlash(path);
    const found = fixed.get(wanted);
    if (found !== undefined) return found;
    const segments = wanted.split("/");
    for (const pattern of patterns) {
      const params = matchSegments(pattern.segments, segments);
      if (params !== undefined) return { route: pattern.route, params };
    }
    return undefined;
  };
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** The parameters of a path that matches the pattern. `*` as the last segment matches the rest of the path. */
function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const hasRest = pattern.at(-1) === "*";
  if (hasRest ? segments.length < pattern.length : segments.length !== pattern.length) return undefined;
  const params: Record<string, string> = Object.create(null);
  const single = hasRest ? pattern.length - 1 : pattern.length;
  for (let i = 0; i < single; i++) {
    if (!matchSegment(pattern[i] as string, segments[i] as string, params)) return undefined;
  }
  if (!hasRest) return params;
  const rest = decode(segments.slice(single).join("/"));
  if (rest === undefined) return undefined;
  params["*"] = rest;
  return params;
}

/** Adds the parameter of a `:name` to `params`. */
function matchSegment(pattern: string, segment: string, params: Record<string, string>): boolean {
  if (!pattern.startsWith(":")) return pattern === segment;
  const value = decode(segment);
  if (value === undefined || value === "") return false;
  params[pattern.slice(1)] = value;
  return true;
}

/** Undefined if the segment is not percent-encoded UTF-8: no route matches it. */
function decode(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
