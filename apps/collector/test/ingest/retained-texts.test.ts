import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createAuthenticator } from "../../src/ingest/sources/authenticator.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const heapBytesNow = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

test("long spellings of a key in headers are not remembered", () => {
  let lookUps = 0;
  const find = () => {
    lookUps++;
    return { id: "src_1", kind: "server" as const };
  };
  const sources = {
    find,
    planOf: () => undefined,
    has: () => true,
    version: 1,
    begin: () => () => {},
    close: () => {},
  };
  const authenticator = createAuthenticator({ sources, region: undefined, regionUrls: {} });
  const spelling = (i: number, length: number) =>
    `Basic ${Buffer.from(`key:${i}`.padEnd(length)).toString("base64")}`;
  const heapBytes = heapBytesNow();
  for (let i = 0; i < 1_000; i++) authenticator.fromHeader(spelling(i, 11_000));
  // All of them together are 15 MB.
  expect(heapBytesNow() - heapBytes).toBeLessThan(3_000_000);
  expect(lookUps).toBe(1_000);
  const short = authenticator.fromHeader(spelling(1, 60));
  expect(authenticator.fromHeader(spelling(1, 60))).toBe(short);
  expect(lookUps).toBe(1_001);
});
