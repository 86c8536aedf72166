import type { AttemptTrace, Round } from "../destination.js";

/** The round of messages that are sent together: what happens to one of them happens to all. They go to the same URLs. */
export function sharedRound(rounds: readonly Round[]): Round {
  const [first] = rounds;
  if (first === undefined) throw new TypeError("There is no round without a message");
  if (rounds.length === 1) return first;
  const traces = new Map<AttemptTrace, readonly (AttemptTrace | undefined)[]>();
  return {
    number: most(rounds.map(({ number }) => number)),
    isAgain: first.isAgain,
    numberAt: (url) => most(rounds.map((round) => round.numberAt(url))),
    isLast: rounds.every(({ isLast }) => isLast),
    waitingUrls: first.waitingUrls,
    doneUrls: first.doneUrls,
    failedUrls: first.failedUrls,
    startTrace() {
      const started = rounds.map((round) => round.startTrace?.());
      if (started.every((trace) => trace === undefined)) return undefined;
      // The request belongs to several traces, and can name none of them.
      const shared: AttemptTrace = { headers: [] };
      traces.set(shared, started);
      return shared;
    },
    record(attempt, trace) {
      const started = trace === undefined ? undefined : traces.get(trace);
      rounds.forEach((round, index) => {
        round.record(attempt, started?.[index]);
      });
    },
    repeat(failure) {
      for (const round of rounds) round.repeat(failure);
    },
    gone: (url) => first.gone(url),
  };
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.max(one, other));
}
