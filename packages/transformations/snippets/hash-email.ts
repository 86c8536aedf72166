import type { Context, Message } from "@sluice/transformations";

/**
 * Sends a digest in place of each e-mail address. With the secret `PEPPER`, nobody can find
 * addresses by trying many; a partner that matches by plain SHA-256 needs the digest without it.
 */
export default function hashEmail(message: Message, { secrets, sha256 }: Context) {
  const places = [message.context?.traits, "traits" in message ? message.traits : message.context];
  for (const fields of places) {
    if (typeof fields !== "object" || fields === null) continue;
    const { email } = fields as { email?: unknown };
    if (typeof email !== "string") continue;
    Object.assign(fields, { email: sha256(email.trim().toLowerCase(), secrets.PEPPER) });
  }
  return message;
}
