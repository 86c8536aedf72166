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
  /** Those that said so since an owner last changed. */
  readonly heard: readonly string[];
  readonly held: readonly HeldPartition[];
}

/** A process waits this long for each one that is to take a free partition before it. */
const STEP_MS = 250;
/** It waits this long for the process to which the partition was moved. */
const WANTED_MS = 2_000;

/** How long this process lets others take a free partition first. */
export function precedenceMs(facts: BalanceFacts, partition: number): number {
  const { node, candidates, held } = facts;
  const others = candidates.filter((other) => other !== node);
  if (others.length === 0) return 0;
  const wanted = held[partition]?.wanted;
  if (wanted === node) return 0;
  const order = takers(facts, partition);
  const place = order.indexOf(node);
  const before = place === -1 ? order.length : place;
  return before * STEP_MS + (wanted !== undefined && others.includes(wanted) ? WANTED_MS : 0);
}

/**
 * In which order processes may take the partition, once its owner is lost. All processes find the same: those that own fewest come first,
 * and what is free is dealt out in the order of its numbers.
 */
function takers({ candidates, held }: BalanceFacts, partition: number): readonly string[] {
  const lost = held[partition]?.node;
  const able = candidates.filter((one) => one !== lost);
  const free = held.filter((one) => one.node === undefined || one.node === lost);
  let dealt = held;
  for (const { partition: number, wanted } of free) {
    if (number >= partition) break;
    const taker = wanted !== undefined && able.includes(wanted) ? wanted : leastFirst(able, dealt)[0];
    dealt = dealt.map((one) => (one.partition === number ? { ...one, node: taker } : one));
  }
  return leastFirst(able, dealt);
}

/**
 * Why this process hands a partition over to another one that is to own it, or undefined. Only the process that owns most does so, while all
 * partitions have owners: so one partition moves at a time, apart from those that somebody moves to a process by its name.
 */
export function reasonToMove(facts: BalanceFacts, partition: number): string | undefined {
  const { node, candidates, heard, held } = facts;
  const wanted = held[partition]?.wanted;
  if (wanted !== undefined) {
    const isMove = wanted !== node && candidates.includes(wanted);
    return isMove ? `it was moved to ${wanted}` : undefined;
  }
  if (held.some((one) => !isSettled(one, candidates))) return undefined;
  const movable = held.filter((one) => one.wanted === undefined);
  const givers = candidates.filter((one) => ownedBy(movable, one) > 0);
  if (node !== mostFirst(givers, held)[0]) return undefined;
  const least = leastFirst(
    heard.filter((other) => other !== node),
    held,
  )[0];
  if (least === undefined || ownedBy(held, node) < ownedBy(held, least) + 2) return undefined;
  // The control partition stays where it is if another one can move.
  const own = movable.filter((one) => one.node === node);
  return own.at(-1)?.partition === partition ? `${least} owns fewer partitions` : undefined;
}

/** It has an owner, and is not to move to another one. */
function isSettled({ node, isLeading, wanted }: HeldPartition, candidates: readonly string[]): boolean {
  return isLeading && (wanted === undefined || wanted === node || !candidates.includes(wanted));
}

function leastFirst(nodes: readonly string[], held: readonly HeldPartition[]): readonly string[] {
  return nodes.toSorted((a, b) => ownedBy(held, a) - ownedBy(held, b) || (a < b ? -1 : 1));
}

function mostFirst(nodes: readonly string[], held: readonly HeldPartition[]): readonly string[] {
  return nodes.toSorted((a, b) => ownedBy(held, b) - ownedBy(held, a) || (a < b ? -1 : 1));
}

function ownedBy(held: readonly HeldPartition[], node: string): number {
  return held.filter((one) => one.node === node).length;
}
