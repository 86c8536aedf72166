const NAMESPACE = "analytics";

/**
 * Whether the environment variable `DEBUG` turns our debug lines on. It follows the `debug` package: names separated by commas or
 * spaces, `*` for any text, a leading `-` to exclude.
 */
export function debugIsOn(variable: string | undefined): boolean {
  let on = false;
  for (const pattern of (variable ?? "").split(/[\s,]+/)) {
    const excludes = pattern.startsWith("-");
    if (!matches(excludes ? pattern.slice(1) : pattern)) continue;
    if (excludes) return false;
    on = true;
  }
  return on;
}

function matches(pattern: string): boolean {
  if (pattern === "") return false;
  const literal = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*?")}$`).test(NAMESPACE);
}
