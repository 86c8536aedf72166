/**
 * Turns the three forms of `page` and `screen` into one object: `(call)`, `(name, fields)`, `(category, name, fields)`. Never throws: fields
 * that cannot be read become an object that cannot be read either, so that the call is refused like any other.
 */
export function viewArguments(args: readonly unknown[]): unknown {
  try {
    const [first, second, third] = args;
    if (typeof first !== "string") return first;
    if (typeof second === "string") return { ...asFields(third), category: first, name: second };
    return { ...asFields(second), name: first };
  } catch {
    return UNREADABLE;
  }
}

/** What follows the three forms of `page` and `screen`: the options of the call. */
export function viewOptions(args: readonly unknown[]): unknown {
  const [first, second] = args;
  if (typeof first !== "string") return second;
  return typeof second === "string" ? args[3] : args[2];
}

function asFields(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

const UNREADABLE: object = {
  get fields(): never {
    throw new Error("The fields cannot be read");
  },
};
