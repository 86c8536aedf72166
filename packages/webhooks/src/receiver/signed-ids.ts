import { createHash } from "node:crypto";
import type { WebhookPayload } from "../message/payload.js";
import type { SignatureCheck } from "../signature/check-signature.js";

/** The ids of a verified message. All of them are covered by the signature. */
export interface SignedIds {
  /** `webhook-id`, else the `messageId` in the body, else a digest of the body. */
  readonly own: string;
  /** The id of the same body without its Standard Webhooks headers. Often the same as `own`. */
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

/** Encodes a message id as the collector does for `webhook-id` and `X-Message-Id`. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}

function digest(rawBody: string): string {
  return createHash("sha256").update(rawBody, "utf8").digest("hex");
}
