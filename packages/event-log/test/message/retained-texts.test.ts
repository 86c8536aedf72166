import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { scanRequest } from "../../src/message/scan-request.js";
import { encodeAppend, hashBatch, KeyHasher } from "../../src/sqlite/calls/append-request.js";
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
    const request = { sourceId: "s", receivedAtMs: 1, body, itemCount: 3, skipped: [], madeIds: [], keys };
    encodeAppend([hashBatch(request, hasher)], sources);
  }
  // All of them together are 90 MB.
  expect(heapBytesNow() - heapBytes).toBeLessThan(20_000_000);
  expect(hasher.classes.classOf("track", "A name of its own 1")).toBeGreaterThan(0);
});

test("a batch that waits for a commit does not hold the texts of its messages", () => {
  const hasher = new KeyHasher(1);
  const padding = "x".repeat(30_000);
  const heapBytes = heapBytesNow();
  const hashed = Array.from({ length: 1_000 }, (_, i) => {
    const text = JSON.stringify({ batch: [{ type: "track", event: "E", messageId: `m${i}`, padding }] });
    const keys = [{ index: 0, messageId: text.slice(-40, -10), userId: text.slice(10, 40), type: "track" }];
    const body = Buffer.alloc(1);
    const batch = { sourceId: "s", receivedAtMs: 1, body, itemCount: 1, skipped: [], madeIds: [], keys };
    return hashBatch(batch, hasher);
  });
  // All of the texts together are 30 MB.
  expect(heapBytesNow() - heapBytes).toBeLessThan(5_000_000);
  expect(hashed).toHaveLength(1_000);
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
