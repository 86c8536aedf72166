import { createHmac } from "node:crypto";
import { memoryDedupe, verify, webHandler } from "@sluice/webhooks";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  bodySigner,
  headerWriter,
  shownHeaders,
  standardSigner,
  tracedHeaders,
  withTraceHeaders,
} from "../../src/destinations/webhooks/request/request-headers.js";

const BODY = Buffer.from('{"type":"track","event":"Größe"}');
const NOW = Date.now();

function headersOf(
  secrets: readonly string[],
  messageId = "m1",
  body: Uint8Array = BODY,
): Record<string, string> {
  const write = headerWriter({ custom: [["X-Team", "blue"]], secrets, standardWebhooks: true });
  const list = write(messageId, 3, body, NOW);
  return Object.fromEntries(
    Array.from({ length: list.length / 2 }, (_, i) => [
      String(list[2 * i]).toLowerCase(),
      String(list[2 * i + 1]),
    ]),
  );
}

describe("the headers of a request", () => {
  it("have the documented names and values", () => {
    expect(headersOf([])).toEqual({
      "user-agent": "Sluice/1.0",
      "content-type": "application/json",
      "x-message-id": "m1",
      "x-attempt": "3",
      "x-team": "blue",
    });
  });

  it("have a trace once, also if stored settings have headers of these names", () => {
    const sent = withTraceHeaders(
      ["X-Team", "blue", "TraceParent", "old", "tracestate", "old=1", "X-Note", "traceparent"],
      ["traceparent", "00-new"],
    );
    expect(sent).toEqual(["X-Team", "blue", "X-Note", "traceparent", "traceparent", "00-new"]);
  });

  it("are signed with the first of two secrets", () => {
    const { "x-signature": signature } = headersOf(["new", "former"]);
    expect([verify(BODY, signature, "new"), verify(BODY, signature, "former")]).toEqual([true, false]);
    expect(verify(BODY, signature, ["other", "new"])).toBe(true);
  });

  it.each([
    [
      "in the form of the specification",
      `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`,
    ],
    ["that is plain text", "a plain shared secret"],
  ])("are accepted by the published verifier of Standard Webhooks, with a secret %s", (_name, secret) => {
    const verifier = secret.startsWith("whsec_")
      ? new Webhook(secret)
      : new Webhook(secret, { format: "raw" });
    expect(verifier.verify(BODY.toString(), headersOf([secret]))).toEqual(JSON.parse(BODY.toString()));
    expect(() => verifier.verify(`${BODY.toString()} `, headersOf([secret]))).toThrow();
  });

  it.each([
    [
      "in the form of the specification",
      `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`,
    ],
    ["in that form, but not base64", "whsec_a-b"],
    ["that is plain text", "a plain shared secret"],
  ])(
    "are accepted by our receiver, with a secret %s, and both signatures yield the same message id",
    async (_name, secret) => {
      const got: string[] = [];
      const dedupe = memoryDedupe();
      const receiver = () =>
        webHandler({
          secret,
          dedupe,
          now: () => NOW,
          onRejected: () => {},
          onMessage: (_message, { messageId }) => void got.push(messageId),
        });
      const body = Buffer.from('{"type":"track","messageId":"Größe"}');
      const { "webhook-id": id, ...headers } = headersOf([secret], "Größe", body);
      const receive = receiver();
      const post = async (sent: Record<string, string>, to = receive) =>
        (await to(new Request("http://r.example/", { method: "POST", headers: sent, body }))).status;
      expect(await post({ ...headers, "webhook-id": String(id) })).toBe(200);
      expect(await post({ ...headers, "webhook-id": "other" })).toBe(401);
      const bodyOnly = { "x-signature": String(headers["x-signature"]) };
      // Once a sender is known to sign the time, the body's signature alone is not enough.
      expect(await post(bodyOnly)).toBe(401);
      expect(await post(bodyOnly, receiver())).toBe(200);
      expect(got).toEqual([id]);
    },
  );

  it("are accepted with either secret during a rotation", () => {
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

  it("are stored in the trace without signatures and credentials", () => {
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
      "X-Message-Id": "",
      "X-Attempt": "",
      "X-Signature": "[redacted]",
      "webhook-id": "",
      "webhook-timestamp": "",
      "webhook-signature": "[redacted]",
      Authorization: "[redacted]",
      "X-Api-Key": "[redacted]",
      "X-Team": "blue",
    });
  });

  it("are shown completely, except for signatures", () => {
    const options = { custom: [["X-Team", ""] as const], secrets: ["hunter2"], standardWebhooks: true };
    const sent = headerWriter(options)("Größe", 3, BODY, 1_700_000_000_500);
    const shown = shownHeaders(tracedHeaders(options), "Größe", { attempt: 3, atMs: 1_700_000_000_500 });
    const expected = Object.fromEntries(
      Array.from({ length: sent.length / 2 }, (_, i) => {
        const name = String(sent[2 * i]);
        return [name, name.toLowerCase().endsWith("signature") ? "[redacted]" : String(sent[2 * i + 1])];
      }),
    );
    expect(shown).toEqual(expected);
    expect(shown["X-Message-Id"]).toBe("Gr%C3%B6%C3%9Fe");
  });
});

describe("the body signer", () => {
  it.each([
    ["a short secret", "s", 10],
    ["a secret as long as a block", "x".repeat(64), 700],
    ["a secret longer than a block", "ü".repeat(64), 4_032],
    ["an empty body", "s", 0],
    ["a body longer than the previous ones", "s", 100_000],
  ])("computes both HMACs with %s", (_name, secret, length) => {
    const sign = bodySigner(secret);
    const signStandard = standardSigner([secret, "former"]);
    for (const size of [length, 3 * length, length >> 1]) {
      const body = Buffer.from(Array.from({ length: size }, (_, i) => (i * 7) % 256));
      expect(sign(body)).toBe(createHmac("sha1", secret).update(body).digest("hex"));
      // Ids are ASCII in a header. The signature would be right for any text.
      for (const id of ["m1", `größe-${"€".repeat(size)}`]) {
        const macs = [secret, "former"].map((one) =>
          createHmac("sha256", one).update(`${id}.17.`).update(body).digest("base64"),
        );
        expect(signStandard(id, 17, body)).toBe(`v1,${macs[0]} v1,${macs[1]}`);
      }
    }
  });
});
