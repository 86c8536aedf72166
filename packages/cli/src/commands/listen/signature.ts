import type { IncomingMessage } from "node:http";
import { SIGNATURE_HEADER } from "@sluice/protocol";

/** `outside_window`: signed more than five minutes ago or ahead. `unchecked`: there is no secret to verify with. */
export type SignatureState = "valid" | "invalid" | "outside_window" | "missing" | "unchecked";

type CheckSignature = (raw: Buffer, request: IncomingMessage, nowMs: number) => SignatureState;

/** Verifies like a receiver does: the Standard Webhooks headers if there are any, otherwise X-Signature. */
export async function signatureChecker(secret: string | undefined): Promise<CheckSignature> {
  if (secret === undefined) return () => "unchecked";
  const { verify, verifyStandard } = await import("@sluice/webhooks");
  return (raw, request, nowMs) => {
    const standard = {
      "webhook-id": header(request, "webhook-id"),
      "webhook-timestamp": header(request, "webhook-timestamp"),
      "webhook-signature": header(request, "webhook-signature"),
    };
    if (Object.values(standard).some((value) => value !== undefined)) {
      const verdict = verifyStandard(raw, standard, secret, nowMs);
      return verdict === "mismatch" ? "invalid" : verdict;
    }
    const signature = header(request, SIGNATURE_HEADER);
    if (signature === undefined) return "missing";
    return verify(raw, signature, secret) ? "valid" : "invalid";
  };
}

/** The id of a valid webhook: `webhook-id`, otherwise the `messageId` in its body. Both are signed. */
export function signedIdOf(request: IncomingMessage, body: unknown): string | undefined {
  const id = header(request, "webhook-id");
  return id === undefined || id === "" ? idIn(body) : id;
}

/** The id in a message. */
export function idIn(body: unknown): string | undefined {
  const id = (body as { messageId?: unknown } | null)?.messageId;
  return typeof id === "string" && id !== "" ? id : undefined;
}

export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}
