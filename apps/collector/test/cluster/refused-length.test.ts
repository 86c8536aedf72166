import { expect, it } from "vitest";
import { refusedLength } from "../../src/cluster/front/kept-body.js";

it.each<[method: string, url: string, length: string | undefined, code: string | undefined]>([
  ["POST", "/v1/batch", "999999999", "payload_too_large"],
  ["POST", "/beacon/v1/batch?writeKey=k", "1048577", "payload_too_large"],
  ["POST", "/batch/", "1048577", "payload_too_large"],
  // Its owner reads the length.
  ["POST", "/v1/batch", "1048576", undefined],
  ["POST", "/v1/batch", undefined, undefined],
  // Other requests have other limits.
  ["POST", "/api/v1/operations", "999999999", undefined],
  ["OPTIONS", "/v1/batch", "999999999", undefined],
])("%s %s of %s bytes is refused with %s before it is passed on", (method, url, length, code) => {
  const headers = length === undefined ? {} : { "content-length": length };
  expect(refusedLength({ method, url, headers })?.code).toBe(code);
});
