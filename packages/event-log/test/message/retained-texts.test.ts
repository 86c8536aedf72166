import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { scanRequest } from "../../src/message/scan-request.js";
import { encodeAppend, KeyHasher } from "../../src/sqlite/calls/append-request.js";
import { SourceNames } from "../../src/sqlite/client/source-names.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const heapBytesNow = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

test("remembered event names do not retain the requests they came in", () => {
  const hasher = new KeyHasher(1);
  const sources = new SourceNames();
  sources.reset([]);
  const padding = "x".repeat(30_000);
  const heapBytes = heapBytesNow();
  for (let i = 0; i < 1_000; i++) {
    const batch = Array.from({ length: 3 }, () => ({
      type: "track",
      event: `A name of its own ${i}`,
      messageId: "m",
      userId: "u",
      properties: { padding },
    }));
    const body = Buffer.from(JSON.stringify({ batch }));
    const keys = scanRequest(body, undefined)?.keys ?? [];
    expect(keys).toHaveLength(3);
    encodeAppend(
      [{ sourceId: "s", receivedAtMs: 1, body, itemCount: 3, skipped: [], madeIds: [], keys }],
      hasher,
      sources,
    );
  }
  // All of them together are 90 MB.
  expect(heapBytesNow() - heapBytes).toBeLessThan(20_000_000);
  expect(hasher.classes.classOf("track", "A name of its own 1")).toBeGreaterThan(0);
});

test("very long event names are not remembered", () => {
  const { classes } = new KeyHasher(1);
  const heapBytes = heapBytesNow();
  for (let i = 0; i < 2_000; i++) classes.classOf("track", `${i}`.padEnd(30_000));
  // All of them together are 60 MB.
  expect(heapBytesNow() - heapBytes).toBeLessThan(10_000_000);
  expect(classes.classOf("track", "1".padEnd(30_000))).toBe(
    new KeyHasher(1).classes.classOf("track", "1".padEnd(30_000)),
  );
});
