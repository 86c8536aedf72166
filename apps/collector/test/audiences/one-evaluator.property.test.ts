import { holds, withOccurrence } from "@sluice/audiences/testing";
import { parseJson } from "@sluice/event-log";
import {
  COMPARISONS,
  type Comparison,
  type ComparisonValue,
  compare,
  lookUp,
  type UncheckedMessage,
  validateComparison,
} from "@sluice/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { applyFilters } from "../../src/delivery/routing/apply-filters.js";
import { parseFilters } from "../../src/delivery/routing/parse-filters.js";

const SCALARS = [0, 9, 10, -1.5, "", "9", "10", "1e1", "a", "ab", true, false] as const;
const TIMES = ["2026-01-01", "2026-01-01T01:00:00+02:00", "20260101T000000Z"] as const;
/** As JSON, since some of these numbers no double holds. */
const SEEN = [...SCALARS, ...TIMES, null, ["a", 9, null], { b: 9, "b.c": 10, d: null }, []].map((value) =>
  JSON.stringify(value),
);
const DIGITS = ["9007199254740993", "-12345678901234567890", "1e400"];
const NAMES = ["a", "b", "a.b", "b.c", "a.b.c", "d", "__proto__", "constructor"];

const scalar = fc.constantFrom<string | number | boolean>(...SCALARS, ...TIMES, 9007199254740992);
const seen = fc.constantFrom(...SEEN, ...DIGITS);
const properties = fc
  .dictionary(fc.constantFrom(...NAMES), seen)
  .map((fields) => `{${Object.entries(fields).map(([name, json]) => `${JSON.stringify(name)}:${json}`)}}`);

test("filters, traits and properties of events have the same answer to every condition", () => {
  fc.assert(
    fc.property(
      properties,
      fc.constantFrom(...NAMES),
      fc.constantFrom<Comparison>(...COMPARISONS),
      fc.option(fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 })), { nil: undefined }),
      (json, name, is, value) => {
        const test = { is, ...(value === undefined ? {} : { value: value as ComparisonValue }) };
        const values = parseJson(json);
        const expected = compare(lookUp(values, name), is, test.value);
        const message = { type: "track", event: "A", properties: values } as UncheckedMessage;

        const rule = { where: [{ path: `properties.${name}`, ...test }], action: { kind: "drop" } } as const;
        expect(applyFilters([rule], message, "m1").kind === "filtered").toBe(expected);

        const reading = {
          trait: (trait: string) => lookUp(values, trait),
          count: () => 0,
          isMember: () => false,
        };
        expect(holds({ kind: "trait", trait: name, ...test }, reading)).toBe(expected);

        const aspect = { kind: "tally", event: "A", where: [{ property: name, ...test }], most: 2 } as const;
        const state = withOccurrence(aspect, undefined, { atMs: 1, properties: values } as never, 2);
        expect(state !== undefined).toBe(expected);

        // What one of them refuses the other does too.
        const isValid = validateComparison(test, "").length === 0;
        expect(parseFilters([rule]).ok).toBe(isValid);
      },
    ),
    { numRuns: 2_000 },
  );
});
