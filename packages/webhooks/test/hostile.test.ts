import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
// @boundaries-ignore test values that no package publishes
import { hostileValue } from "../../core/test/doubles/hostile-values.js";
import { sign, verify, verifyStandard, webHandler } from "../src/index.js";

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => {
  unhandled.push(reason);
};
beforeEach(() => {
  process.on("unhandledRejection", onUnhandled);
});
afterEach(() => {
  process.off("unhandledRejection", onUnhandled);
});

const RUNS = { numRuns: Number(process.env.SLUICE_PROPERTY_RUNS ?? 300) };

/** Lets rejections that nobody handles surface. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("checks return, and receivers answer", async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(hostileValue, hostileValue, hostileValue), async (makers) => {
      const [one, two, three] = makers.map((make) => make());
      const hex = "0".repeat(40);
      for (const signature of [two, hex])
        expect(verify(one as never, signature as never, three as never)).toBe(false);
      expect(verify("body", hex, three as never)).toBe(false);
      const headers = { "webhook-id": "i", "webhook-timestamp": "1", "webhook-signature": "v1,AA==" };
      for (const given of [two, headers])
        expect(verifyStandard(one as never, given as never, three as never)).toBe("mismatch");
      expect(verifyStandard("body", headers, "s", two as never)).toBe("mismatch");
      const handler = webHandler({
        secret: "s",
        now: () => one as never,
        onMessage: () => two as never,
        onError: () => three as never,
        onRejected: () => three as never,
      });
      const body = JSON.stringify({ type: "track" });
      const signed = { "x-signature": sign(body, "s") };
      for (const sent of [headers, signed, {}]) {
        const answer = await handler(new Request("http://h/", { method: "POST", body, headers: sent }));
        expect([200, 401, 500]).toContain(answer.status);
      }
    }),
    RUNS,
  );
  await nextTurn();
  expect(unhandled).toEqual([]);
});
