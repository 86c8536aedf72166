import type { Invariant } from "./invariant.js";

/** Limits of sources. */
export const rateLimitsHold: Invariant = {
  name: "rate-limits-hold",
  promise:
    "While a source is limited to some messages a second, no more of them are acknowledged than that, apart from a second's worth and a batch for each process of the collector.",
  check({ cast }) {
    const { acknowledgements, limits, runs } = cast.history;
    return limits.flatMap(({ sourceId, perSecond, fromMs, untilMs }) => {
      const endMs = Math.min(untilMs, cast.world.elapsedMs);
      const processes =
        1 + runs.filter(({ startedAtMs }) => startedAtMs > fromMs && startedAtMs < endMs).length;
      if (endMs <= fromMs) return [];
      const sizes = acknowledgements
        .filter((one) => one.sourceId === sourceId && one.atMs > fromMs && one.atMs < endMs)
        .map(({ messageIds }) => messageIds.length);
      // A batch is taken whole while anything is left of the second's worth.
      const most = (perSecond * (endMs - fromMs)) / 1_000 + processes * (perSecond + Math.max(0, ...sizes));
      const taken = sizes.reduce((sum, size) => sum + size, 0);
      return taken > most
        ? [`${sourceId} took ${taken} messages under a limit of ${perSecond} a second`]
        : [];
    });
  },
};
