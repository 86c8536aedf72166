/**
 * What a bench measured: `{name, unit, ours, peer?, peerName?}`. `npm run bench` starts each bench as a child process and receives its
 * figures; a bench that somebody starts by hand only prints its own table.
 */
export function reportFigures(figures) {
  process.send?.({ figures });
}

/** For a bench that lacks something on this machine. */
export function reportSkipped(reason) {
  process.send?.({ skipped: reason });
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}

/** Combines the same bench's figures of several rounds: medians, and the ratio of the medians. One name may have several units. */
export function combineRounds(rounds) {
  return (rounds[0] ?? []).map(({ name, unit, peerName }) => {
    const of = (side) =>
      rounds
        .map((figures) => figures.find((figure) => figure.name === name && figure.unit === unit)?.[side])
        .filter((value) => Number.isFinite(value));
    const ours = median(of("ours"));
    if (peerName === undefined) return { name, unit, ours };
    const peer = median(of("peer"));
    return { name, unit, ours, peer, peerName, ratio: ours / peer };
  });
}
