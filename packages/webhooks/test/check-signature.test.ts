import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { WebhookPayload } from "../src/index.js";
import { sign, signStandard } from "../src/index.js";
import { signedIds } from "../src/receiver/signed-ids.js";
import { checkSignature, type SignatureCheck } from "../src/signature/check-signature.js";

const BODY = '{"type":"track","event":"Größe"}';
const NOW_MS = 1_800_000_000_000;
const STANDARD = signStandard(BODY, "secret", { id: "m1", timestampMs: NOW_MS });
const CLASSIC = { "x-signature": sign(BODY, "secret") };

const MISMATCH = "webhook-signature does not match: do both sides have the same secret?";
const CLASSIC_MISMATCH = "X-Signature does not match: do both sides have the same secret?";
const OUTSIDE_WINDOW =
  "webhook-timestamp is more than five minutes off: is this request a replay, or a clock wrong?";
const STANDARD_MISSING = "webhook-signature is missing: is standardWebhooks on for the destination?";
const CLASSIC_MISSING = "X-Signature is missing: does the destination have a shared secret?";

type Headers = { readonly [name: string]: string | null };
interface Row {
  readonly headers: Headers;
  readonly standardWebhooks?: "auto" | "accept" | "require";
  readonly isSenderKnown?: boolean;
  readonly nowMs?: number;
  readonly expected: SignatureCheck;
}
const refused = (reason: string): SignatureCheck => ({ kind: "refused", reason });

describe("checkSignature", () => {
  it.each<[name: string, row: Row]>([
    ["Standard Webhooks", { headers: { ...STANDARD }, expected: { kind: "standard", id: "m1" } }],
    ["X-Signature", { headers: CLASSIC, expected: { kind: "classic" } }],
    [
      "both, where Standard Webhooks says more",
      { headers: { ...STANDARD, ...CLASSIC }, expected: { kind: "standard", id: "m1" } },
    ],
    ["neither", { headers: {}, expected: refused(CLASSIC_MISSING) }],
    [
      "neither, as the fetch API says it",
      {
        headers: {
          "webhook-id": null,
          "webhook-timestamp": null,
          "webhook-signature": null,
          "x-signature": null,
        },
        expected: refused(CLASSIC_MISSING),
      },
    ],
    ["an empty X-Signature", { headers: { "x-signature": "" }, expected: refused(CLASSIC_MISSING) }],
    [
      "an X-Signature of another body",
      { headers: { "x-signature": sign("{}", "secret") }, expected: refused(CLASSIC_MISMATCH) },
    ],
    [
      "X-Signature where Standard Webhooks is required",
      { headers: CLASSIC, standardWebhooks: "require", expected: refused(STANDARD_MISSING) },
    ],
    [
      "X-Signature of a sender that is known to send Standard Webhooks",
      { headers: CLASSIC, isSenderKnown: true, expected: refused(STANDARD_MISSING) },
    ],
    [
      "the same where both are accepted",
      {
        headers: CLASSIC,
        isSenderKnown: true,
        standardWebhooks: "accept",
        expected: { kind: "classic" },
      },
    ],
    [
      "Standard Webhooks where it is required",
      { headers: { ...STANDARD }, standardWebhooks: "require", expected: { kind: "standard", id: "m1" } },
    ],
    [
      "an old request",
      { headers: { ...STANDARD }, nowMs: NOW_MS + 300_001, expected: refused(OUTSIDE_WINDOW) },
    ],
    ["another id", { headers: { ...STANDARD, "webhook-id": "m2" }, expected: refused(MISMATCH) }],
    // Removing the stronger headers in part must not leave the weaker one to decide.
    [
      "only the id, with X-Signature",
      { headers: { "webhook-id": "m1", ...CLASSIC }, expected: refused(MISMATCH) },
    ],
    [
      "only the time, with X-Signature",
      { headers: { "webhook-timestamp": "1800000000", ...CLASSIC }, expected: refused(MISMATCH) },
    ],
    [
      "only the signature, with X-Signature",
      {
        headers: { "webhook-signature": STANDARD["webhook-signature"], ...CLASSIC },
        expected: refused(MISMATCH),
      },
    ],
  ])("%s", (_name, row) => {
    const { headers, standardWebhooks = "auto", isSenderKnown = false, nowMs = NOW_MS, expected } = row;
    const policy = { secrets: ["secret"], standardWebhooks, now: () => nowMs };
    expect(checkSignature(BODY, (name) => headers[name], policy, isSenderKnown)).toEqual(expected);
  });
});

describe("signedIds", () => {
  const digest = `sha256:${createHash("sha256").update(BODY, "utf8").digest("hex")}`;
  const idsOf = (
    message: object,
    check: Exclude<SignatureCheck, { kind: "refused" }> = { kind: "classic" },
  ) => signedIds(check, { messages: [message as WebhookPayload], isBatch: false }, BODY)[0];

  it.each<[name: string, message: object, id: string]>([
    ["the message's id", { messageId: "m1" }, "m1"],
    ["the first and last visible characters as they are", { messageId: "!~" }, "!~"],
    ["visible characters that a URL would encode", { messageId: "order/42%?" }, "order/42%?"],
    ["an id with a space, encoded", { messageId: "a b" }, "a%20b"],
    ["a space at the end", { messageId: "a " }, "a%20"],
    ["a space at the start", { messageId: " a" }, "%20a"],
    ["an id with letters beyond ASCII, encoded", { messageId: "Größe" }, "Gr%C3%B6%C3%9Fe"],
    ["half a surrogate pair as the replacement character", { messageId: "\ud800" }, "%EF%BF%BD"],
    ["no id: a digest of the body", {}, digest],
    ["an empty id: a digest of the body", { messageId: "" }, digest],
    ["an id that is no text: a digest of the body", { messageId: 5 }, digest],
  ])("%s", (_name, message, id) => {
    expect(idsOf(message)).toEqual({ own: id, ofBody: id });
  });

  it("takes the id of the Standard Webhooks headers, and keeps the body's beside it", () => {
    expect(idsOf({ messageId: "m1" }, { kind: "standard", id: "h1" })).toEqual({ own: "h1", ofBody: "m1" });
  });
});
