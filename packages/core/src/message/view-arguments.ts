/** Turns the three forms of `page` and `screen` into one object: `(call)`, `(name, fields)`, `(category, name, fields)`. */
export function viewArguments(args: readonly unknown[]): unknown {
  const [first, second, third] = args;
  if (typeof first !== "string") return first;
  if (typeof second === "string") return { ...asFields(third), category: first, name: second };
  return { ...asFields(second), name: first };
}

function asFields(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}
