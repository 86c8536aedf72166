import { isDeepStrictEqual } from "node:util";
import type { Invariant } from "./invariant.js";

/** The copies of a cluster. */
export const copiesAreEqual: Invariant = {
  name: "copies-are-equal",
  promise:
    "All copies of a cluster that contain the same entries of the log are equal, table by table, whatever happened to the processes.",
  check({ copies }) {
    const [first, ...others] = copies.flatMap(({ name, contents }) =>
      contents === undefined ? [] : [{ name, contents }],
    );
    if (first === undefined) return [];
    return others.flatMap(({ name, contents }) =>
      Object.keys(first.contents)
        .filter((table) => !isDeepStrictEqual(first.contents[table], contents[table]))
        .map((table) => `the copies of ${first.name} and ${name} differ in ${table}`),
    );
  },
};
