import { describe, expect, it } from "vitest";
import { admit, afterFailure, afterSuccess, type CircuitBreaker, CLOSED_BREAKER } from "../src/index.js";

const options = { failureThreshold: 3, openFor: { initialMs: 1_000, maxMs: 8_000, jitter: "none" } } as const;

function failTimes(times: number, nowMs = 0): CircuitBreaker {
  let breaker = CLOSED_BREAKER;
  for (let i = 0; i < times; i++) breaker = afterFailure(breaker, options, nowMs, 0.5);
  return breaker;
}

describe("circuit breaker", () => {
  it("allows calls until the threshold of consecutive failures", () => {
    expect(admit(failTimes(2), 0)).toMatchObject({ admitted: true });
    expect(admit(failTimes(3), 0)).toEqual({ admitted: false, retryAtMs: 1_000 });
  });

  it("resets its failures after a success", () => {
    expect(afterFailure(afterSuccess(failTimes(2)), options, 0, 0.5)).toEqual({
      kind: "closed",
      failures: 1,
    });
  });

  it("allows one probe when its time has come, and no other call", () => {
    const probe = admit(failTimes(3), 1_000);
    expect(probe).toEqual({ admitted: true, next: { kind: "probing", probes: 0 } });
    if (probe.admitted) expect(admit(probe.next, 60_000)).toEqual({ admitted: false });
  });

  it("waits longer after each failed probe, up to the cap", () => {
    let breaker = failTimes(3);
    const opened: number[] = [];
    for (let nowMs = 0, probe = 0; probe < 5; probe++) {
      if (breaker.kind !== "open") throw new Error(`expected open, got ${breaker.kind}`);
      opened.push(breaker.probeAtMs - nowMs);
      nowMs = breaker.probeAtMs;
      const admitted = admit(breaker, nowMs);
      if (!admitted.admitted) throw new Error("expected a probe");
      breaker = afterFailure(admitted.next, options, nowMs, 0.5);
    }
    expect(opened).toEqual([1_000, 2_000, 4_000, 8_000, 8_000]);
  });

  it("closes when the probe succeeds", () => {
    expect(afterSuccess({ kind: "probing", probes: 4 })).toEqual(CLOSED_BREAKER);
  });

  it("returns a closed breaker without failures itself after a success, so that nothing is stored", () => {
    const closed: CircuitBreaker = { kind: "closed", failures: 0 };
    expect(afterSuccess(closed)).toBe(closed);
  });

  it("closes when a call that was in progress succeeds", () => {
    expect(afterSuccess(failTimes(3))).toEqual(CLOSED_BREAKER);
  });

  it("changes nothing when it admits a call while closed", () => {
    const closed = failTimes(2);
    expect(admit(closed, 0)).toEqual({ admitted: true, next: closed });
  });

  it("stays open until the probe's time", () => {
    expect(admit(failTimes(3), 999)).toEqual({ admitted: false, retryAtMs: 1_000 });
  });

  it("ignores failures of calls that were in progress when it opened", () => {
    const open = failTimes(3);
    expect(afterFailure(open, options, 900, 0.5)).toEqual(open);
  });
});
