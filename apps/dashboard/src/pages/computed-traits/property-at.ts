/** A property of an event by its name, or by a dotted path through objects; undefined when it has none. */
export function propertyAt(properties: unknown, path: string): unknown {
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return undefined;
  const named = properties as { readonly [name: string]: unknown };
  if (Object.hasOwn(named, path)) return named[path] ?? undefined;
  const dot = path.indexOf(".");
  if (dot < 0) return undefined;
  const head = path.slice(0, dot);
  return Object.hasOwn(named, head) ? propertyAt(named[head], path.slice(dot + 1)) : undefined;
}
