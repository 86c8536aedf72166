/** A destination, and how many messages a second it takes. */
export interface Load {
  readonly id: string;
  readonly perSecond: number;
}

/** The worker of each destination, from 0. */
export type Placement = ReadonlyMap<string, number>;

/** A difference below this is not worth a handover, in messages a second. */
const WORTH_MOVING_PER_SECOND = 200;

/** The worker for a new destination: the one with the fewest messages a second; of several, the one with the fewest destinations. */
export function placeFor(loads: readonly Load[], placement: Placement, workers: number): number {
  const all = totals(loads, placement, workers);
  return all.reduce((best, one) => (isLighter(one, all[best] as Total) ? one.worker : best), 0);
}

/**
 * The destination to move next, and where to; undefined if the workers are balanced. Moves one that makes the busiest worker less busy
 * without making another as busy as it was, so that repeating it ends.
 */
export function nextMove(
  loads: readonly Load[],
  placement: Placement,
  workers: number,
): { readonly id: string; readonly to: number } | undefined {
  const all = totals(loads, placement, workers);
  const busiest = all.reduce((a, b) => (b.perSecond > a.perSecond ? b : a));
  const idlest = all.reduce((a, b) => (isLighter(b, a) ? b : a));
  const gap = busiest.perSecond - idlest.perSecond;
  if (gap < WORTH_MOVING_PER_SECOND) return undefined;
  // The best one halves the gap. One as large as the gap would only turn it round.
  const distance = ({ perSecond }: Load): number => Math.abs(gap / 2 - perSecond);
  const movable = loads.filter(
    ({ id, perSecond }) =>
      placement.get(id) === busiest.worker &&
      gap - Math.abs(gap - 2 * perSecond) >= WORTH_MOVING_PER_SECOND / 2,
  );
  const [best] = movable.sort(
    (a, b) => distance(a) - distance(b) || a.perSecond - b.perSecond || (a.id < b.id ? -1 : 1),
  );
  return best && { id: best.id, to: idlest.worker };
}

interface Total {
  readonly worker: number;
  readonly perSecond: number;
  readonly destinations: number;
}

function totals(loads: readonly Load[], placement: Placement, workers: number): readonly Total[] {
  return Array.from({ length: workers }, (_, worker) => {
    const own = loads.filter(({ id }) => placement.get(id) === worker);
    const perSecond = own.reduce((sum, load) => sum + load.perSecond, 0);
    return { worker, perSecond, destinations: own.length };
  });
}

function isLighter(a: Total, b: Total): boolean {
  return a.perSecond === b.perSecond ? a.destinations < b.destinations : a.perSecond < b.perSecond;
}
