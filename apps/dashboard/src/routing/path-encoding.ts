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
