/**
 * wouter runs `decodeURI` over the path before it matches, which would decode `%2520` twice and `%2F` never. So it gets
 * the path with `%` escaped once more, and its parameters are still encoded, each exactly as in the address.
 */
export function escapedPath(path: string): string {
  return path.replaceAll("%", "%25");
}

/** The parameters as they were before `addresses` encoded them; undefined if one is not valid percent-encoding. */
export function decodedParams<Name extends string>(
  params: Readonly<Record<Name, string>>,
): Readonly<Record<Name, string>> | undefined {
  try {
    const decoded = Object.entries<string>(params).map(([name, value]) => [name, decodeURIComponent(value)]);
    return Object.fromEntries(decoded) as Record<Name, string>;
  } catch {
    return undefined;
  }
}

/** The addresses of all pages. Ids are encoded, so that any id stays one path segment. */
export const addresses = {
  overview: () => "/",
  live: (filter?: string) => (filter ? `/live?q=${encodeURIComponent(filter)}` : "/live"),
  message: (messageId: string, sourceId?: string) =>
    `/messages/${encodeURIComponent(messageId)}${sourceId === undefined ? "" : `?source=${encodeURIComponent(sourceId)}`}`,
  deliveries: (
    query: { destination?: string; state?: string; error?: string; since?: string; cause?: string } = {},
  ) => withQuery("/deliveries", query),
  warnings: () => "/warnings",
  sources: () => "/sources",
  source: (id: string) => `/sources/${encodeURIComponent(id)}`,
  sourceEvents: (id: string) => `/sources/${encodeURIComponent(id)}/events`,
  /** `source`: the one to connect. */
  catalog: (query: { source?: string } = {}) => withQuery("/catalog", query),
  connect: (type: string, query: { source?: string } = {}) =>
    withQuery(`/catalog/${encodeURIComponent(type)}`, query),
  destinations: () => "/destinations",
  destination: (
    id: string,
    query: { tab?: "activity" | "failures" | "settings" | string; field?: string; test?: "now" } = {},
  ) => withQuery(`/destinations/${encodeURIComponent(id)}`, query),
  transformations: () => "/transformations",
  newTransformation: () => "/transformations/new",
  transformation: (id: string, query: { tab?: "edit" | "versions" | "use" | string } = {}) =>
    withQuery(`/transformations/${encodeURIComponent(id)}`, query),
  audiences: () => "/audiences",
  newAudience: () => "/audiences/new",
  audience: (id: string) => `/audiences/${encodeURIComponent(id)}`,
  editAudience: (id: string) => `/audiences/${encodeURIComponent(id)}/edit`,
  computedTraits: () => "/computed-traits",
  computedTrait: (id: string) => `/computed-traits/${encodeURIComponent(id)}`,
  profile: (userId: string) => `/profiles/${encodeURIComponent(userId)}`,
  profiles: (q?: string) => withQuery("/profiles", { q }),
  deletions: () => "/deletions",
  cluster: () => "/cluster",
  settings: () => "/settings",
  /** A page of the guides, which the collector serves beside the dashboard: for ordinary links. */
  guide: (name = "index") => `/docs/${name}.html`,
} as const;

function withQuery(path: string, query: Record<string, string | undefined>): string {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, value]],
    ),
  );
  return search.size === 0 ? path : `${path}?${search}`;
}
