/** The indexes of values without neighbours. A line has no length there, so the chart draws points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number) => typeof values[index] === "number";
  return Array.from({ length: values.length }, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}
