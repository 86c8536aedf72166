import { verify } from "@sluice/webhooks";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { requestHeaders, tracedHeaders } from "../../src/destinations/webhooks/request-headers.js";

const BODY = Buffer.from('{"type":"track","event":"Größe"}');
const NOW = Date.now();

function headersOf(secrets: readonly string[], messageId = "m1"): Record<string, string> {
  const list = requestHeaders(
    { custom: [["X-Team", "blue"]], secrets, standardWebhooks: true },
    messageId,
    3,
    BODY,
    NOW,
  );
  return Object.fromEntries(
    Array.from({ length: list.length / 2 }, (_, i) => [
      String(list[2 * i]).toLowerCase(),
      String(list[2 * i + 1]),
    ]),
  );
}

describe("the headers of a request", () => {
  it("are named and valued as documented", () => {
    expect(headersOf([])).toEqual({
      "user-agent": "Sluice/1.0",
      "content-type": "application/json",
      "x-message-id": "m1",
      "x-attempt": "3",
      "x-team": "blue",
    });
  });

  it("are signed with the first of two secrets", () => {
    const { "x-signature": signature } = headersOf(["new", "former"]);
    expect([verify(BODY, signature, "new"), verify(BODY, signature, "former")]).toEqual([true, false]);
    expect(verify(BODY, signature, ["other", "new"])).toBe(true);
  });

  it.each([
    ["of the specification's form", `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`],
    ["that is any text", "a plain shared secret"],
  ])("pass the published verifier of Standard Webhooks, with a secret %s", (_name, secret) => {
    const verifier = secret.startsWith("whsec_")
      ? new Webhook(secret)
      : new Webhook(secret, { format: "raw" });
    expect(verifier.verify(BODY.toString(), headersOf([secret]))).toEqual(JSON.parse(BODY.toString()));
    expect(() => verifier.verify(`${BODY.toString()} `, headersOf([secret]))).toThrow();
  });

  it("pass it with either secret during a rotation", () => {
    for (const secret of ["new", "former"]) {
      const verifier = new Webhook(secret, { format: "raw" });
      expect(() => verifier.verify(BODY.toString(), headersOf(["new", "former"]))).not.toThrow();
    }
  });

  it.each([
    ["a b", "a%20b"],
    ["line\nbreak", "line%0Abreak"],
    ["Größe", "Gr%C3%B6%C3%9Fe"],
    ["\ud800", "%EF%BF%BD"],
    ["", ""],
  ])("carry the message id %j as %j", (messageId, header) => {
    expect(headersOf([], messageId)["x-message-id"]).toBe(header);
  });

  it("are traced without signatures and credentials", () => {
    const traced = tracedHeaders({
      custom: [
        ["Authorization", "Bearer hunter2"],
        ["X-Api-Key", "hunter2"],
        ["X-Team", "blue"],
      ],
      secrets: ["hunter2"],
      standardWebhooks: true,
    });
    expect(traced).toEqual({
      "User-Agent": "Sluice/1.0",
      "Content-Type": "application/json",
      "X-Signature": "[redacted]",
      "webhook-signature": "[redacted]",
      Authorization: "[redacted]",
      "X-Api-Key": "[redacted]",
      "X-Team": "blue",
    });
  });
});
