import { isPlainObject } from "@sluice/protocol";

/** One difference between two JSON values. */
export interface Difference {
  readonly path: string;
  /** Absent if the value was added. */
  readonly before?: { readonly value: unknown };
  /** Absent if the value was removed. */
  readonly after?: { readonly value: unknown };
}

/** The differences between two JSON values, in the order of the fields of `after`. */
export function jsonDiff(before: unknown, after: unknown, path = ""): Difference[] {
  if (isPlainObject(before) && isPlainObject(after)) {
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
    return names.flatMap((name) => {
      const inner = path === "" ? name : `${path}.${name}`;
      if (!Object.hasOwn(before, name)) return [{ path: inner, after: { value: after[name] } }];
      if (!Object.hasOwn(after, name)) return [{ path: inner, before: { value: before[name] } }];
      return jsonDiff(before[name], after[name], inner);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return after.flatMap((value, index) => jsonDiff(before[index], value, `${path}[${index}]`));
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [{ path, before: { value: before }, after: { value: after } }];
}
