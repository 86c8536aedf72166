import { describe, expect, it } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-policy.js";
import { DestinationGate } from "../../src/delivery/sending/destination-gate.js";

const HOUR = 3_600_000;
const REFUSED = { kind: "retry", reason: "HTTP 503", doneUrls: [], failedUrls: [], alive: false } as const;

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
