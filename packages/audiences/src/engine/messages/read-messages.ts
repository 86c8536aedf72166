import { decodeBatch, offsetAt, parseJson, type StoredBatch, type StoredMessage } from "@sluice/event-log";
import { coerce, isPlainObject } from "@sluice/protocol";
import type { DefinitionSet } from "../../definitions/definition-set.js";
import { type Identification, type IdentityPolicy, identificationOf } from "../../profiles/identities.js";
import { scanBatch } from "./scan-batch.js";

/** The part of a stored message that profiles depend on. */
export type LogMessage = Pick<StoredMessage, "message" | "offset" | "receivedAtMs">;

/** Whether more of a message is needed than its ids and its time. */
export type IsNeeded = (type: unknown, event: unknown) => boolean;

export function neededBy({ specsByEvent }: DefinitionSet): IsNeeded {
  return (type, event) =>
    type === "identify" || type === "alias" || (type === "track" && specsByEvent.has(event as string));
}

/** The messages of a batch, in order. Only needed messages are parsed as a whole, because parsing is most of the cost of reading. */
export function readMessages(batch: StoredBatch, isNeeded: IsNeeded): LogMessage[] {
  const scanned = batch.kind === undefined ? scanBatch(batch.body) : undefined;
  if (scanned === undefined) return decodeBatch(batch);
  const skipped = new Set(batch.skipped);
  const { receivedAtMs, body } = batch;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const messages: LogMessage[] = [];
  scanned.items.forEach(({ fields, start, end }, index) => {
    if (skipped.has(index)) return;
    const offset = offsetAt(batch.first, index);
    if (fields !== undefined && !isNeeded(fields.type, fields.event)) {
      if (fields.sentAt === undefined && scanned.sentAt !== undefined) fields.sentAt = scanned.sentAt;
      messages.push({ message: fields, offset, receivedAtMs });
      return;
    }
    const item = parseJson(bytes.toString("utf8", start, end));
    // An item that is not an object was purged: see `overwrite-messages.ts`.
    if (!isPlainObject(item)) return;
    messages.push({ message: coerce(item, { sentAt: scanned.sentAt }), offset, receivedAtMs });
  });
  return messages;
}

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
