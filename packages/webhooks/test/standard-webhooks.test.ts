import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signStandard, verifyStandard } from "../src/index.js";

const BODY = '{"type":"track"}';
const NOW_MS = 1_750_000_000_000;
const MESSAGE = { id: "msg_1", timestampMs: NOW_MS };

/** Computed here, apart from the code under test. */
function headersFor(key: Buffer) {
  const timestamp = String(NOW_MS / 1_000);
  const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${BODY}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

describe("the key of a Standard Webhooks secret", () => {
  it.each([
    ["base64 after whsec_", "whsec_MfKQ9r8GKYqrTwjU", Buffer.from("MfKQ9r8GKYqrTwjU", "base64")],
    ["one base64 character after whsec_", "whsec_Q", Buffer.from("Q", "base64")],
    ["as it is without whsec_", "plain-secret", Buffer.from("plain-secret", "utf8")],
    ["as it is in UTF-8", "geheimnis-ü", Buffer.from("geheimnis-ü", "utf8")],
    ["as it is with something before whsec_", "my_whsec_MfKQ", Buffer.from("my_whsec_MfKQ", "utf8")],
    ["as it is if the rest is not base64", "whsec_MfKQ-9r8G", Buffer.from("whsec_MfKQ-9r8G", "utf8")],
    ["as it is if base64 ends early", "whsec_MfKQ!", Buffer.from("whsec_MfKQ!", "utf8")],
    ["as it is if nothing follows whsec_", "whsec_", Buffer.from("whsec_", "utf8")],
  ])("is %s", (_, secret, key) => {
    expect(signStandard(BODY, secret, MESSAGE)).toEqual(headersFor(key));
    expect(verifyStandard(BODY, headersFor(key), secret, NOW_MS)).toBe("valid");
  });
});

describe("signStandard", () => {
  it.each([
    [1_750_000_000_000, "1750000000"],
    [1_750_000_000_999, "1750000000"],
  ])("signs %i ms as %s, the second that has begun", (timestampMs, expected) => {
    expect(signStandard(BODY, "current", { id: "msg_1", timestampMs })["webhook-timestamp"]).toBe(expected);
  });
});

describe("verifyStandard", () => {
  const headers = signStandard(BODY, "current", MESSAGE);
  const verdict = (secret: unknown, changed: Record<string, unknown> = {}, nowMs = NOW_MS) =>
    verifyStandard(BODY, { ...headers, ...changed } as typeof headers, secret as string, nowMs);

  it.each<[string, unknown, string]>([
    ["one of several secrets", ["next", "current"], "valid"],
    ["none of several secrets", ["next", "other"], "mismatch"],
    ["a list with things that are no secret", [undefined, 7, "", "current"], "valid"],
    ["no secret", undefined, "mismatch"],
    ["an empty list", [], "mismatch"],
    ["something else", { secret: "current" }, "mismatch"],
    ["an iterator", ["current"].values(), "mismatch"],
  ])("takes %s", (_, secret, expected) => {
    expect(verdict(secret)).toBe(expected);
  });

  it("never accepts a signature under an empty secret", () => {
    const empty = signStandard(BODY, "", MESSAGE);
    expect(verifyStandard(BODY, empty, "", NOW_MS)).toBe("mismatch");
    expect(verifyStandard(BODY, empty, ["", "current"], NOW_MS)).toBe("mismatch");
  });

  it.each<[string, Record<string, unknown>]>([
    ["no id", { "webhook-id": undefined }],
    ["an empty id", { "webhook-id": "" }],
    ["another id", { "webhook-id": "msg_2" }],
    ["no time", { "webhook-timestamp": undefined }],
    ["a time with other characters before it", { "webhook-timestamp": ` ${NOW_MS / 1_000}` }],
    ["a time with other characters behind it", { "webhook-timestamp": `${NOW_MS / 1_000}.0` }],
    ["a time that is no text", { "webhook-timestamp": NOW_MS / 1_000 }],
    ["a time of 13 digits", { "webhook-timestamp": "0001750000000" }],
    ["no signature", { "webhook-signature": undefined }],
    ["a String object", { "webhook-signature": Object(headers["webhook-signature"]) }],
    [
      "a signature of another version",
      { "webhook-signature": headers["webhook-signature"].replace("v1,", "v2,") },
    ],
    ["a signature that is too short", { "webhook-signature": headers["webhook-signature"].slice(0, 20) }],
  ])("refuses %s", (_, changed) => {
    expect(verdict("current", changed)).toBe("mismatch");
  });

  it("takes a missing id for none, even where its text is signed", () => {
    const signed = signStandard(BODY, "current", { ...MESSAGE, id: "undefined" });
    expect(verdict("current", { ...signed })).toBe("valid");
    expect(verdict("current", { ...signed, "webhook-id": undefined })).toBe("mismatch");
  });

  it("never throws, whatever the body is", () => {
    for (const body of [{ type: "track" }, undefined, 7])
      expect(verifyStandard(body as unknown as string, headers, "current", NOW_MS)).toBe("mismatch");
  });

  it("finds the right one among several signatures", () => {
    const other = signStandard(BODY, "other", MESSAGE)["webhook-signature"];
    const both = `${other} v1a,xyz ${headers["webhook-signature"]} ${other}`;
    expect(verdict("current", { "webhook-signature": both })).toBe("valid");
  });

  it.each([
    [-300_000, "valid"],
    [300_000, "valid"],
    [-300_001, "outside_window"],
    [300_001, "outside_window"],
  ])("judges a time that is %i ms away: %s", (awayMs, expected) => {
    expect(verdict("current", {}, NOW_MS + awayMs)).toBe(expected);
  });
});
