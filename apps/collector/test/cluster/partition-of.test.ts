import { expect, it } from "vitest";
import { partitionOfRequest } from "../../src/cluster/gateway/partition-of.js";

const sources = {
  ofWriteKey: (key: string) => (key === "key" ? 3 : undefined),
  ofSource: (id: string) => (id === "src_1" ? 2 : undefined),
  refresh: async () => {},
};

it.each<[url: string, expected: number | "body"]>([
  ["/v1/track?writeKey=key", 3],
  ["http://events.example.com/v1/track?writeKey=key", 3],
  ["/v1/projects/key/settings", 3],
  ["/api/v1/sources/src_1/usage?period=7d", 2],
  ["/v1/track", "body"],
  ["/api/v1/sources", 0],
  // Anybody can send these, and `URL` refuses most of them.
  ["//", 0],
  ["//[", 0],
  ["http://", 0],
  ["http://[/v1/track", "body"],
  ["*", 0],
  ["/v1/track?writeKey=%E0%A4%A", 0],
  ["/v1/projects/%E0/settings", "body"],
])("a request for %s is for partition %s", (url, expected) => {
  expect(partitionOfRequest({ method: "POST", url, headers: {} }, sources)).toBe(expected);
});
