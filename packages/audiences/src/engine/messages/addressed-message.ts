import { type Identification, identificationOf } from "../../profiles/identities.js";
import type { IdentityPolicy } from "../../profiles/identity-policy.js";
import type { LogMessage } from "./read-messages.js";

/** A message with its ids. They are read once, because most messages are needed for nothing else. */
export interface AddressedMessage extends LogMessage {
  readonly identification: Identification;
  readonly sourceId: string;
  readonly policy: IdentityPolicy;
}

/** The messages of a source that name a user. */
export function addressed(
  messages: readonly LogMessage[],
  sourceId: string,
  policy: IdentityPolicy,
): AddressedMessage[] {
  const known: AddressedMessage[] = [];
  for (const { message, offset, receivedAtMs } of messages) {
    const identification = message.type === "delete" ? undefined : identificationOf(message, policy);
    if (identification !== undefined)
      known.push({ message, offset, receivedAtMs, identification, sourceId, policy });
  }
  return known;
}
