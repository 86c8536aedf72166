import { createHash } from "node:crypto";
import type { ParsedPayloads } from "../message.js";
import type { SignatureCheck } from "../signature/check-signature.js";

/** The ids of a verified message. All of them are covered by the signature. */
export interface SignedIds {
  /** Of a message that is alone: `webhook-id`. Otherwise as `ofBody`. */
  readonly own: string;
  /** The `messageId` in the body, else a digest of the body: the same without Standard Webhooks headers. Often the same as `own`. */
  readonly ofBody: string;
}

/** The ids of each message of a request. */
export function signedIds(
  check: Exclude<SignatureCheck, { kind: "refused" }>,
  { messages, isBatch }: ParsedPayloads,
  rawBody: string,
): readonly SignedIds[] {
  return messages.map((message, index) => {
    const messageId = "messageId" in message ? message.messageId : undefined;
    const hasId = typeof messageId === "string" && messageId !== "";
    // A batch has one id, and its messages need one each.
    const place = isBatch ? `.${index}` : "";
    const ofBody = hasId ? headerSafe(messageId) : `sha256:${digest(rawBody)}${place}`;
    return { own: check.kind === "standard" && !(isBatch && hasId) ? `${check.id}${place}` : ofBody, ofBody };
  });
}

/** Encodes a message id as the collector does for `webhook-id` and `X-Message-Id`. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}

function digest(rawBody: string): string {
  return createHash("sha256").update(rawBody, "utf8").digest("hex");
}
