const NAMESPACE = "analytics";

/**
 * Whether the environment variable `DEBUG` asks for our lines, by the convention of the `debug` package: names separated by
 * commas or blanks, `*` for any text, a leading `-` to leave out.
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
