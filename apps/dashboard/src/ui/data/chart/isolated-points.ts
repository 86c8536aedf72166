/** ScrollPositions of values without neighbours: a line has no length there, so each is drawn as a point. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number) => typeof values[index] === "number";
  return Array.from({ length: values.length }, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}
