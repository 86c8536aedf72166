import { expect, it } from "vitest";
import { runProgram } from "./programs/run-program.js";

it("1,000,000 calls while the server is down: the limit is kept, every loss is counted and reported, and memory is bounded", async () => {
  const source = `
    let told = 0;
    const analytics = new Analytics({ writeKey: "k", host: url, onError: (status, message, { messages }) => { told += messages.length; } });
    const track = (i) => analytics.track({ userId: "u", event: "Product Viewed", properties: { text: "x".repeat(500), i } });
    for (let i = 0; i < 1_000; i++) track(i);
    gc();
    const before = process.memoryUsage().rss;
    let peak = before, queued = 0;
    for (let i = 0; i < 1_000_000; i++) {
      track(i);
      if (i % 10_000 === 9_999) {
        await new Promise((resolve) => setImmediate(resolve));
        peak = Math.max(peak, process.memoryUsage().rss);
        queued = Math.max(queued, analytics.stats().queued);
      }
    }
    const { failed, refused, delivered } = analytics.stats();
    console.log(JSON.stringify({ queued, lost: failed + refused + analytics.stats().queued, told: told === failed + refused, delivered, growthMb: (peak - before) / 1_048_576 }));
    process.exit(0);`;
  const { stdout, stderr } = await runProgram(source, { url: "http://127.0.0.1:1", flags: ["--expose-gc"] })
    .ended;
  const result = JSON.parse(stdout) as {
    queued: number;
    lost: number;
    told: boolean;
    delivered: number;
    growthMb: number;
  };
  expect(stderr).toMatch(/^\[sluice\] Sending to .* failed 2 times: .*\n$/);
  expect(result).toMatchObject({ queued: 10_000, lost: 1_001_000, told: true, delivered: 0 });
  // A million kept messages would be 600 MB. On a busy machine, garbage alone has been 67.
  expect(result.growthMb).toBeLessThan(128);
});
