import type { Route } from "./route.js";

export interface RouteMatch {
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
