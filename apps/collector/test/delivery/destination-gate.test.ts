import { describe, expect, it } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-stage.js";
import { DestinationGate } from "../../src/delivery/sending/destination-gate.js";

const HOUR = 3_600_000;
const REFUSED = { kind: "retry", reason: "HTTP 503", doneUrls: [], failedUrls: [], alive: false } as const;

const REFUSED_FOR_GOOD = { kind: "failed", reason: "HTTP 400" } as const;

const THRESHOLD = DELIVERY_DEFAULTS.breaker.failureThreshold;
const PROBE_MS = HOUR;
const NOW = { nowMs: 0, random: 0.5, longestWaitMs: HOUR };
type Observed = Parameters<DestinationGate["observe"]>[0];

/** A gate after as many failures as open the breaker. `isProbing`: its probe is under way, at `PROBE_MS`. */
function downGate(isProbing: boolean): DestinationGate {
  const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
  for (let failures = 0; failures < THRESHOLD; failures++) gate.observe(REFUSED, NOW);
  if (isProbing) gate.enter(PROBE_MS);
  return gate;
}
describe("what a round says about the destination", () => {
  it.each<[name: string, outcome: Observed, answer: "open" | "dead"]>([
    ["delivered: it is up", { kind: "delivered", reason: "200" }, "open"],
    ["refused for good: it is up", REFUSED_FOR_GOOD, "open"],
    [
      "refused in a way that counts against it: it is down",
      { ...REFUSED_FOR_GOOD, countsAgainst: true },
      "dead",
    ],
    ["one of several URLs answered: it is up", { ...REFUSED, alive: true }, "open"],
    ["no URL answered: it is down", REFUSED, "dead"],
    ["only some of several URLs were tried: it is down as before", { ...REFUSED, alive: "unknown" }, "dead"],
  ])("a probe, %s", (_, outcome, answer) => {
    const gate = downGate(true);
    expect(gate.ask(PROBE_MS)).toEqual({ kind: "dead", untilMs: undefined });
    gate.observe(outcome, { ...NOW, nowMs: PROBE_MS });
    expect(gate.isProbing).toBe(false);
    expect(gate.ask(PROBE_MS).kind).toBe(answer);
  });

  it("nothing, if only some of several URLs were tried while it was up", () => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    for (let failures = 0; failures <= THRESHOLD; failures++)
      gate.observe({ ...REFUSED, alive: "unknown" }, NOW);
    expect(gate.ask(0)).toEqual({ kind: "open" });
  });
});

describe("a probe", () => {
  it("that was not sent is left to the next message", () => {
    const gate = downGate(true);
    gate.probeNotSent(PROBE_MS);
    expect(gate.ask(PROBE_MS)).toEqual({ kind: "open" });
    gate.enter(PROBE_MS);
    expect(gate.isProbing).toBe(true);
  });

  it("that found nothing to send is left to the next message", () => {
    const gate = downGate(true);
    gate.takeBack();
    expect([gate.isProbing, gate.ask(PROBE_MS).kind]).toEqual([false, "open"]);
  });

  it("is asked for only where the destination is down", () => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    gate.probeNotSent(0);
    gate.probeNow(0);
    gate.enter(0);
    expect([gate.isProbing, gate.ask(0).kind]).toEqual([false, "open"]);
    expect(gate.breaker).toStrictEqual({ kind: "closed", failures: 0 });
  });

  it("that is under way is not asked for a second time", () => {
    const gate = downGate(true);
    gate.probeNow(PROBE_MS);
    expect(gate.breaker).toStrictEqual({ kind: "probing", probes: 0 });
  });

  it("is none of the rounds that start before its time", () => {
    const gate = downGate(false);
    const before = gate.breaker;
    gate.enter(1);
    expect([gate.breaker, gate.isProbing]).toEqual([before, false]);
  });

  it("can be asked for at once", () => {
    const gate = downGate(false);
    expect(gate.ask(1).kind).toBe("dead");
    gate.probeNow(1);
    expect(gate.ask(1)).toEqual({ kind: "open" });
  });
});

describe("the next probe of a destination that is down", () => {
  it.each([
    ["waits for a Retry-After", HOUR, HOUR],
    ["waits for the retry window at most", 200 * HOUR, 4 * HOUR],
  ])("%s", (_, retryAfterMs, expectedMs) => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    for (let failures = 0; failures < DELIVERY_DEFAULTS.breaker.failureThreshold; failures++)
      gate.observe({ ...REFUSED, retryAfterMs }, { nowMs: 0, random: 0.5, longestWaitMs: 4 * HOUR });
    expect(gate.ask(0)).toEqual({ kind: "dead", untilMs: expectedMs });
  });
});

describe("a rate limit", () => {
  /** When the next round may start after as many as start at once. */
  it.each([
    ["several a second", 2, 2, 500],
    ["one a second", 1, 1, 1_000],
    ["one in two seconds", 0.5, 1, 2_000],
  ])(
    "of %s lets a second's worth start at once, one at least, and then paces",
    (_, perSecond, atOnce, nextMs) => {
      const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
      gate.reset(perSecond, 0);
      for (let round = 0; round < atOnce; round++) {
        expect(gate.ask(0)).toEqual({ kind: "open" });
        gate.enter(0);
      }
      expect(gate.ask(0)).toEqual({ kind: "paced", untilMs: nextMs });
      expect(gate.ask(nextMs - 2).kind).toBe("paced");
      expect(gate.ask(nextMs)).toEqual({ kind: "open" });
    },
  );

  it("counts no round that found nothing to send", () => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    gate.reset(1, 0);
    gate.enter(0);
    gate.takeBack();
    expect(gate.ask(0)).toEqual({ kind: "open" });
  });

  it("is asked only while the destination is up", () => {
    const gate = downGate(false);
    gate.enter(0);
    expect(gate.ask(0).kind).toBe("dead");
  });
});

it("new settings end the rate limit and what is known of the destination", () => {
  const gate = downGate(true);
  gate.reset(1, PROBE_MS);
  expect(gate.breaker).toStrictEqual({ kind: "closed", failures: 0 });
  gate.enter(PROBE_MS);
  gate.reset(undefined, PROBE_MS);
  gate.enter(PROBE_MS);
  expect(gate.ask(PROBE_MS)).toEqual({ kind: "open" });
});
