/** Who holds a partition's lease. */
export interface HeldPartition {
  readonly partition: number;
  /** Undefined: nobody. */
  readonly node: string | undefined;
  /** It takes requests. */
  readonly isLeading: boolean;
  /** The process to which it was moved. Undefined: any. */
  readonly wanted: string | undefined;
}

export interface BalanceFacts {
  /** This process. */
  readonly node: string;
  /** The processes that are alive, ready and not drained; this one is among them if it is. */
  readonly candidates: readonly string[];
  readonly held: readonly HeldPartition[];
}

/** A process waits this long for each partition that it owns more than another one could take it. */
const STEP_MS = 250;
/** It waits this long for the process to which the partition was moved. */
const WANTED_MS = 2_000;

/** How long this process lets others take a free partition first. */
export function precedenceMs({ node, candidates, held }: BalanceFacts, partition: number): number {
  const others = candidates.filter((other) => other !== node);
  if (others.length === 0) return 0;
  const wanted = held[partition]?.wanted;
  if (wanted === node) return 0;
  const least = Math.min(...others.map((other) => ownedBy(held, other)));
  const ahead = Math.max(0, ownedBy(held, node) - least);
  return ahead * STEP_MS + (wanted !== undefined && others.includes(wanted) ? WANTED_MS : 0);
}

/** Why this process hands a partition over to another one that is to own it, or undefined. One partition moves at a time. */
export function reasonToMove(facts: BalanceFacts, partition: number): string | undefined {
  const { node, candidates, held } = facts;
  const others = candidates.filter((other) => other !== node);
  const wanted = held[partition]?.wanted;
  if (wanted !== undefined) {
    const isMove = wanted !== node && others.includes(wanted);
    return isMove ? `it was moved to ${wanted}` : undefined;
  }
  if (held.some(({ isLeading }) => !isLeading)) return undefined;
  const least = others.toSorted((a, b) => ownedBy(held, a) - ownedBy(held, b))[0];
  if (least === undefined || ownedBy(held, node) < ownedBy(held, least) + 2) return undefined;
  // The control partition stays where it is if another one can move.
  const own = held.filter((one) => one.node === node && one.wanted === undefined);
  return own.at(-1)?.partition === partition ? `${least} owns fewer partitions` : undefined;
}

function ownedBy(held: readonly HeldPartition[], node: string): number {
  return held.filter((one) => one.node === node).length;
}
