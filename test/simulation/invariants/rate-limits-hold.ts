import type { Invariant } from "./invariant.js";

/** Limits of sources. */
export const rateLimitsHold: Invariant = {
  name: "rate-limits-hold",
  promise:
    "While a source is limited to some messages a second, no more of them are acknowledged than that, apart from a second's worth and a batch for each process of the collector.",
  check({ scenario, cast }) {
    const { acknowledgements, limits, runs } = cast.history;
    return limits.flatMap(({ sourceId, perSecond, fromMs, untilMs }) => {
      const endMs = Math.min(untilMs, cast.world.elapsedMs);
      const processes =
        1 + runs.filter(({ startedAtMs }) => startedAtMs > fromMs && startedAtMs < endMs).length;
      if (endMs <= fromMs) return [];
      const all = acknowledgements
        .filter((one) => one.sourceId === sourceId && one.askedMs > fromMs && one.atMs < endMs)
        .map(({ askedMs, atMs, messageIds }) => ({ askedMs, atMs, size: messageIds.length }));
      // A batch is taken whole while anything is left of the second's worth.
      const largest = Math.max(0, ...all.map(({ size }) => size));
      const least = processes * (Math.max(1, perSecond) + largest);
      const most = (perSecond * (endMs - fromMs)) / 1_000 + least;
      const sum = all.reduce((taken, { size }) => taken + size, 0);
      if (sum > most) return [`${sourceId} took ${sum} messages under a limit of ${perSecond} a second`];
      if (scenario.workers === 1) return [];
      // Where threads count together: in any time, between the first request and the last answer.
      return all.flatMap(({ askedMs: beginMs }) => {
        const since = all.filter(({ askedMs }) => askedMs >= beginMs).toSorted((a, b) => a.atMs - b.atMs);
        let taken = 0;
        for (const { atMs, size } of since) {
          taken += size;
          if (taken > (perSecond * (atMs - beginMs)) / 1_000 + least)
            return [
              `${sourceId} took ${taken} messages from ${beginMs} to ${atMs}, limited to ${perSecond} a second`,
            ];
        }
        return [];
      });
    });
  },
};
