import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { skimRequest } from "../../src/messages/skim-request.js";
import { encodeAppend, KeyHasher } from "../../src/store/sqlite/append-request.js";
import { SourceNames } from "../../src/store/sqlite/source-names.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("names of events that are remembered do not keep the requests in which they came", () => {
  const hasher = new KeyHasher(1);
  const sources = new SourceNames();
  sources.reset([]);
  const padding = "x".repeat(30_000);
  const heapBytesNow = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
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
    const keys = skimRequest(body, undefined)?.keys ?? [];
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
