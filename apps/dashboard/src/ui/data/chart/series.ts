/** One line of a chart. */
export interface Series {
  readonly label: string;
  /** A custom property of `tokens.css`. */
  readonly color: "--accent" | "--good" | "--bad" | "--wait" | "--quiet";
  readonly values: readonly (number | null)[];
  /** For each value, whether the true one is greater. Default: none is. */
  readonly isMore?: readonly boolean[];
  readonly fill?: boolean;
}

/** The value at an index as text: `> 7 d` if the true one is greater. */
export function valueText(
  { values, isMore }: Pick<Series, "values" | "isMore">,
  index: number,
  format: (value: number) => string,
): string {
  const value = values[index];
  if (value === undefined || value === null) return "–";
  return `${isMore?.[index] ? "> " : ""}${format(value)}`;
}

/** The index of the newest value, or -1. */
export function newestIndex({ values }: Pick<Series, "values">): number {
  return values.findLastIndex((value) => value !== null);
}

/** The indexes of values without neighbours. A line has no length there, so the chart draws points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number) => typeof values[index] === "number";
  return Array.from({ length: values.length }, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}
