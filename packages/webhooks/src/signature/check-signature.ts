import { type RawBody, verify } from "./signature.js";
import { verifyStandard } from "./standard-webhooks.js";

/** The signature that a request passed, or why it is refused. */
export type SignatureCheck =
  /** Standard Webhooks: the signature covers the id, the time and the body. */
  | { readonly kind: "standard"; readonly id: string }
  /** `X-Signature`: it covers only the body. */
  | { readonly kind: "classic" }
  | { readonly kind: "refused"; readonly reason: string };

export interface SignaturePolicy {
  readonly secrets: readonly string[];
  readonly standardWebhooks: "auto" | "accept" | "require";
  /** The time, in milliseconds since the Unix epoch. */
  readonly now: () => number;
}

type ReadHeader = (name: string) => string | null | undefined;

/**
 * Checks the Standard Webhooks headers if the request has any of them, otherwise `X-Signature`. `isSenderKnown`: an earlier request had
 * valid ones.
 */
export function checkSignature(
  rawBody: RawBody,
  header: ReadHeader,
  { secrets, standardWebhooks, now }: SignaturePolicy,
  isSenderKnown: boolean,
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
        return refused("webhook-signature does not match: do both sides have the same secret?");
    }
  }
  if (standardWebhooks === "require" || (standardWebhooks === "auto" && isSenderKnown))
    return refused("webhook-signature is missing: is standardWebhooks on for the destination?");
  const signature = header("x-signature");
  if (signature === null || signature === undefined || signature === "")
    return refused("X-Signature is missing: does the destination have a shared secret?");
  return verify(rawBody, signature, secrets)
    ? { kind: "classic" }
    : refused("X-Signature does not match: do both sides have the same secret?");
}

function refused(reason: string): SignatureCheck {
  return { kind: "refused", reason };
}
