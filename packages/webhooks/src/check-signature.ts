import { createHash } from "node:crypto";
import type { WebhookPayload } from "./payload.js";
import { type RawBody, verify } from "./signature.js";
import { verifyStandard } from "./standard-webhooks.js";

/** Which signature a request verified under, or why it is refused. */
export type SignatureCheck =
  /** Standard Webhooks: `id` and time are covered by the signature. */
  | { readonly kind: "standard"; readonly id: string }
  /** `X-Signature`: it covers the body and nothing else. */
  | { readonly kind: "classic" }
  | { readonly kind: "refused"; readonly reason: string };

export interface SignaturePolicy {
  readonly secrets: readonly string[];
  readonly isStandardRequired: boolean;
  readonly now: () => number;
}

type ReadHeader = (name: string) => string | null | undefined;

/** Checks the Standard Webhooks headers if the request has any of them, otherwise `X-Signature`. */
export function checkSignature(
  rawBody: RawBody,
  header: ReadHeader,
  { secrets, isStandardRequired, now }: SignaturePolicy,
): SignatureCheck {
  const standard = {
    "webhook-id": header("webhook-id"),
    "webhook-timestamp": header("webhook-timestamp"),
    "webhook-signature": header("webhook-signature"),
  };
  const isStandard = Object.values(standard).some((value) => value !== null && value !== undefined);
  if (isStandard) {
    switch (verifyStandard(rawBody, standard, secrets, now())) {
      case "valid":
        return { kind: "standard", id: standard["webhook-id"] ?? "" };
      case "outside_window":
        return refused(
          "webhook-timestamp is more than five minutes off: is this request a replay, or a clock wrong?",
        );
      case "mismatch":
        return refused("webhook-signature does not match: have both sides the same secret?");
    }
  }
  if (isStandardRequired) return refused("no webhook-signature: has the destination standardWebhooks on?");
  const signature = header("x-signature");
  if (signature === null || signature === undefined || signature === "")
    return refused("no X-Signature: has the destination a shared secret?");
  return verify(rawBody, signature, secrets)
    ? { kind: "classic" }
    : refused("X-Signature does not match: have both sides the same secret?");
}

function refused(reason: string): SignatureCheck {
  return { kind: "refused", reason };
}

/** What a verified message is known by, all of it signed. */
export interface SignedIds {
  /** `webhook-id`, else the `messageId` in the body, else a digest of the body. */
  readonly own: string;
  /** What the same body is known by when its Standard Webhooks headers are taken off. Often the same as `own`. */
  readonly ofBody: string;
}

export function signedIds(
  check: Exclude<SignatureCheck, { kind: "refused" }>,
  message: WebhookPayload,
  rawBody: string,
): SignedIds {
  const messageId = "messageId" in message ? message.messageId : undefined;
  const ofBody =
    typeof messageId === "string" && messageId !== "" ? headerSafe(messageId) : `sha256:${digest(rawBody)}`;
  return { own: check.kind === "standard" ? check.id : ofBody, ofBody };
}

/** As the collector writes a message id into `webhook-id` and `X-Message-Id`. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}

function digest(rawBody: string): string {
  return createHash("sha256").update(rawBody, "utf8").digest("hex");
}
