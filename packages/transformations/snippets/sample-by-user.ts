import type { Context, Message } from "@sluice/transformations";

/** The share of users whose messages are kept. */
const RATE = 0.1;

/** Keeps all messages of a tenth of the users, always the same ones, and drops the others. */
export default function sampleByUser(message: Message, { sha256 }: Context) {
  const id = message.userId ?? message.anonymousId;
  if (id === undefined) return null;
  const place = Number.parseInt(sha256(`sample:${id}`).slice(0, 8), 16) / 2 ** 32;
  return place < RATE ? message : null;
}
