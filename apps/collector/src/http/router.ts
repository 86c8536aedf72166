import type { Route } from "./route.js";

export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export type Router = (path: string) => RouteMatch | undefined;

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Finds the route of a path, with or without a trailing slash. A fixed path wins over one with parameters, then the first listed. */
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

/** `*` as the last segment takes whatever follows, as parameter `*`. */
function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const takesRest = pattern.at(-1) === "*";
  if (takesRest ? segments.length < pattern.length : segments.length !== pattern.length) return undefined;
  const params: Record<string, string> = Object.create(null);
  for (const [i, part] of pattern.entries()) {
    const segment = segments[i] as string;
    if (takesRest && i === pattern.length - 1) {
      const rest = decode(segments.slice(i).join("/"));
      if (rest === undefined) return undefined;
      params["*"] = rest;
    } else if (part.startsWith(":")) {
      const value = decode(segment);
      if (value === undefined || value === "") return undefined;
      params[part.slice(1)] = value;
    } else if (part !== segment) return undefined;
  }
  return params;
}

/** Undefined for what is not percent-encoded UTF-8: such an address names nothing here. */
function decode(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
