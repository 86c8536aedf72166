import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { ControlSources } from "../../src/cluster/documents/control-sources.js";
import { partitionOfMessages, partitionOfRequest } from "../../src/cluster/gateway/partition-of.js";

const sources = (hasSpread: boolean): ControlSources => ({
  hasSpread,
  placeOf: (key) =>
    key === "key"
      ? { sourceId: "src_2", partition: 3 }
      : key === "spread"
        ? { sourceId: "src_3", partition: 1, partitions: 2 }
        : undefined,
  placeOfSource: (id) =>
    id === "src_1"
      ? { sourceId: id, partition: 2 }
      : id === "src_3"
        ? { sourceId: id, partition: 1, partitions: 2 }
        : undefined,
  refresh: async () => {},
});

it.each<[url: string, expected: number | "body"]>([
  ["/beacon/v1/batch?writeKey=key", 3],
  ["http://events.example.com/beacon/v1/batch?writeKey=key", 3],
  ["/beacon/v1/batch?writeKey=", "body"],
  ["/v1/projects/key/settings", 3],
  ["/v1/projects/key/settings?writeKey=spread", 3],
  // Ingestion does not read the query here.
  ["/v1/track?writeKey=key", "body"],
  ["/api/v1/sources/src_1/usage?period=7d", 2],
  ["/v1/track", "body"],
  ["/api/v1/sources", 0],
  // Anybody can send these, and `URL` refuses most of them.
  ["//", 0],
  ["//[", 0],
  ["http://", 0],
  ["http://[/v1/track", "body"],
  ["*", 0],
  ["/v1/track?writeKey=%E0%A4%A", "body"],
  ["/beacon/v1/batch?writeKey=%E0%A4%A", 0],
  ["/v1/projects/%E0/settings", "body"],
])("a request for %s is for partition %s", (url, expected) => {
  expect(partitionOfRequest({ method: "POST", url, headers: {} }, sources(false))).toBe(expected);
});

const spread = { authorization: `Basic ${btoa("spread:")}` };
const pixel = Buffer.from('{"writeKey":"spread","userId":"u"}').toString("base64url");

it.each<
  [method: string, url: string, headers: { authorization?: string }, expected: number | "body" | "spread"]
>([
  ["POST", "/v1/batch", spread, "spread"],
  ["POST", "/v1/t", spread, "spread"],
  ["POST", "/beacon/v1/batch?writeKey=spread", {}, "spread"],
  ["GET", `/v1/pixel/track?data=${pixel}`, {}, "spread"],
  ["POST", "/v1/track", {}, "spread"],
  ["GET", "/api/v1/sources/src_3/usage", {}, "spread"],
  ["GET", "/api/v1/sources/src_3/events?limit=2", {}, "spread"],
  // One of its partitions answers these.
  ["GET", "/v1/projects/spread/settings", {}, 1],
  ["GET", "/sourceConfig?writeKey=spread", {}, 1],
  ["POST", "/v1/m", spread, 1],
  ["POST", "/v1/m", {}, "body"],
  ["OPTIONS", "/v1/batch", {}, 0],
  ["GET", "/api/v1/sources/src_3", {}, 0],
  ["POST", "/v1/batch", { authorization: `Basic ${btoa("key:")}` }, 3],
  ["POST", "/v1/batch?writeKey=key", spread, "spread"],
  ["POST", "/v1/batch?writeKey=spread", { authorization: `Basic ${btoa("key:")}` }, 3],
  ["POST", "/beacon/v1/batch?writeKey=", spread, "spread"],
  ["POST", "/beacon/v1/batch?writeKey=", { authorization: `Basic ${btoa("key:")}` }, 3],
])("with a spread source, %s %s is for %4$s", (method, url, headers, expected) => {
  expect(partitionOfRequest({ method, url, headers }, sources(true))).toBe(expected);
});

const batch = Buffer.from('{"writeKey":"key","batch":[]}');

it.each<[what: string, encoding: string | undefined, body: Uint8Array, expected: number]>([
  ["plain", undefined, batch, 3],
  ["with gzip", "gzip", gzipSync(batch), 3],
  ["with gzip in capitals", " GZIP ", gzipSync(batch), 3],
  ["with gzip that no header names", undefined, gzipSync(batch), 3],
  ["with deflate", "deflate", deflateSync(batch), 3],
  ["with deflate without a header of its own", "deflate", deflateRawSync(batch), 3],
  ["with br", "br", brotliCompressSync(batch), 3],
  // The first partition answers with the reason.
  ["with two encodings", "gzip, br", gzipSync(batch), 0],
  ["damaged", "gzip", gzipSync(batch).subarray(0, 12), 0],
  ["too large", "br", brotliCompressSync(Buffer.alloc(9_000_000, 0x20)), 0],
])("messages %s are for the partition of the key in their body", async (_, encoding, body, expected) => {
  const headers = encoding === undefined ? {} : { "content-encoding": encoding };
  expect(await partitionOfMessages({ url: "/v1/batch", headers }, body, sources(false))).toBe(expected);
});

it("is not read while the machine has enough of such bodies to read", async () => {
  const headers = { "content-encoding": "br" };
  const body = brotliCompressSync(batch);
  const all = await Promise.allSettled(
    Array.from({ length: 70 }, () =>
      partitionOfMessages({ url: "/v1/batch", headers }, body, sources(false)),
    ),
  );
  const refused = all.flatMap((one) =>
    one.status === "rejected" ? [(one.reason as { code: string }).code] : [],
  );
  expect(refused).toEqual(Array.from({ length: 5 }, () => "overloaded"));
});
