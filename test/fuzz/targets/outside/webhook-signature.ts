import { expect } from "vitest";
import { receiver } from "../../../../packages/webhooks/src/receiver/receiver.js";
import { sign, verify } from "../../../../packages/webhooks/src/signature/signature.js";
import {
  signStandard,
  verifyStandard,
} from "../../../../packages/webhooks/src/signature/standard-webhooks.js";
import { textTarget } from "../../engine/target.js";

const SECRETS = ["first secret", "whsec_c2Vjb25kIHNlY3JldA=="];
const NOW_MS = Date.UTC(2026, 10, 21, 9, 30);
const BODY = '{"type":"page","messageId":"m-1"}';
const SIGNED = signStandard(BODY, SECRETS[0] ?? "", { id: "m-1", timestampMs: NOW_MS });
const CLASSIC = sign(BODY, SECRETS[0] ?? "");

/** Lines of an input: method, headers as `name: value`, then an empty line and the body. */
interface Request {
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function requestOf(text: string): Request {
  const [head = "", ...rest] = text.split("\n\n");
  const [method = "", ...lines] = head.split("\n");
  const headers = new Map(
    lines.map((line) => [line.split(": ")[0]?.toLowerCase() ?? "", line.split(": ").slice(1).join(": ")]),
  );
  return { method, headers, body: rest.join("\n\n") };
}

export const webhookSignature = textTarget({
  name: "webhook-signature",
  rule: "a request reaches the application only with the signature of exactly its body; every other one gets a 4xx",
  runs: 2_000,
  alphabet: "text",
  dictionary: [
    ...[
      "POST",
      BODY,
      `x-signature: ${CLASSIC}`,
      `webhook-signature: ${SIGNED["webhook-signature"]}`,
      "webhook-id: m-1",
    ],
    ...[
      `webhook-timestamp: ${SIGNED["webhook-timestamp"]}`,
      "v1,",
      " ",
      "v1a,",
      "\n\n",
      "x-attempt: 2",
      "x-message-id: m-1",
    ],
  ],
  maxLength: 700,
  async check(text) {
    const { method, headers, body } = requestOf(text);
    const handled: string[] = [];
    const failed: unknown[] = [];
    const { receive } = receiver({
      secret: SECRETS,
      now: () => NOW_MS,
      onMessage: (_message, { rawBody }) => void handled.push(rawBody),
      onError: (error) => void failed.push(error),
      onRejected: () => {},
    });
    const answer = await receive({ method, header: (name) => headers.get(name), rawBody: Buffer.from(body) });
    expect(failed).toEqual([]);
    expect([200, 400, 401, 405, 413]).toContain(answer.status);
    if (handled.length > 0) expect(isSigned(headers, Buffer.from(body))).toBe(true);
    verify(body, text, text);
    expect(
      verifyStandard(
        body,
        { "webhook-id": text, "webhook-timestamp": text, "webhook-signature": text },
        text,
        NOW_MS,
      ),
    ).not.toBe("valid");
    if (text !== "") expect(verify(text, sign(text, "k"), ["no", "k"])).toBe(true);
  },
});

/** Computed again from the secrets, not checked with the code under test. */
function isSigned(headers: ReadonlyMap<string, string>, body: Buffer): boolean {
  if (SECRETS.some((secret) => sign(body, secret) === headers.get("x-signature"))) return true;
  const timestampMs = Number(headers.get("webhook-timestamp")) * 1_000;
  return SECRETS.some((secret) => {
    const expected = signStandard(body, secret, { id: headers.get("webhook-id") ?? "", timestampMs })[
      "webhook-signature"
    ];
    const mac = Buffer.from(expected.slice("v1,".length), "base64");
    return (headers.get("webhook-signature") ?? "")
      .split(" ")
      .some((one) => Buffer.from(one.slice(3), "base64").equals(mac));
  });
}
