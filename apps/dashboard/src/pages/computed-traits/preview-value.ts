import type { TraitDefinition } from "./trait-draft.js";

/** One event that a value may be made of. */
export interface TraitEvent {
  readonly atMs: number;
  readonly properties: unknown;
}

/** What a trait would be for a user with these events, in any order; undefined when none of them counts. */
export function previewValue(
  { kind, property, withinMs }: TraitDefinition,
  events: readonly TraitEvent[],
  nowMs: number,
): unknown {
  const within = events
    .filter(({ atMs }) => withinMs === undefined || atMs > nowMs - withinMs)
    .toSorted((a, b) => a.atMs - b.atMs);
  if (kind === "count") return within.length === 0 ? undefined : within.length;
  const values = within
    .map(({ properties }) => valueAt(properties, property ?? ""))
    .filter((value) => value !== undefined);
  const numbers = values.map(numberOf).filter((value) => value !== undefined);
  const sum = numbers.reduce((total, value) => total + value, 0);
  switch (kind) {
    case "sum":
      return numbers.length === 0 ? undefined : sum;
    case "average":
      return numbers.length === 0 ? undefined : sum / numbers.length;
    case "min":
      return numbers.length === 0 ? undefined : numbers.reduce((a, b) => Math.min(a, b));
    case "max":
      return numbers.length === 0 ? undefined : numbers.reduce((a, b) => Math.max(a, b));
    case "first":
      return values[0];
    case "last":
      return values.at(-1);
    case "most_frequent":
      return mostFrequent(values);
    case "unique_list":
      return values.length === 0 ? undefined : [...byText(values).values()].map(([first]) => first);
    default:
      return kind satisfies never;
  }
}

/** Of several that are equally frequent the one seen first. */
function mostFrequent(values: readonly unknown[]): unknown {
  let most: readonly unknown[] = [];
  for (const alike of byText(values).values()) if (alike.length > most.length) most = alike;
  return most[0];
}

/** Equal values together, in order of first sight. */
function byText(values: readonly unknown[]): ReadonlyMap<string, readonly unknown[]> {
  const alike = new Map<string, unknown[]>();
  for (const value of values) {
    const text = JSON.stringify(value);
    const known = alike.get(text);
    if (known === undefined) alike.set(text, [value]);
    else known.push(value);
  }
  return alike;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** The value at a name or a dotted path. */
function valueAt(properties: unknown, path: string): unknown {
  let at = properties;
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
