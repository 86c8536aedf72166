import { scanUser, scanUsers, userHash } from "@sluice/event-log";
import { isPlainObject, LIMITS, type MessageKind } from "@sluice/protocol";
import { runInTurns } from "../../../ingest/messages/event-loop-turns.js";
import {
  MAX_ENVELOPE_BYTES,
  MAX_UNFOLDED_BYTES,
  type OpenedRequest,
  openInSlices,
  openRequest,
} from "../../../ingest/messages/open-request.js";

/** Where the messages of a batch are in its bytes, and a hash of each one's user. */
export interface UsersOfBatch {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly hashes: readonly number[];
}

/**
 * Finds the users of a batch: by a scan of its bytes, else by parsing them as ingestion does. Undefined: it has no messages. Throws a
 * `CollectorError` if ingestion refuses the whole request.
 */
export function usersOfBatch(
  body: Uint8Array,
  seed: number,
  nextTurn: () => Promise<void>,
): UsersOfBatch | undefined | Promise<UsersOfBatch | undefined> {
  const scan = scanUsers(body, seed);
  if (
    scan !== undefined &&
    scan.envelopeBytes <= MAX_ENVELOPE_BYTES &&
    scan.bytesAround * scan.starts.length <= MAX_UNFOLDED_BYTES
  )
    return scan;
  if (body.length <= LIMITS.messageBytes) return parsedUsers(body, openRequest(body, undefined), seed);
  return runInTurns(openInSlices(body, undefined), nextTurn).then((opened) =>
    parsedUsers(body, opened, seed),
  );
}

/** A hash of the user of a single message. Throws a `CollectorError` if the message is not JSON. */
export function userOfMessage(body: Uint8Array, kind: MessageKind, seed: number): number {
  return scanUser(body, seed) ?? hashOf(openRequest(body, kind).items[0], seed);
}

function parsedUsers(body: Uint8Array, opened: OpenedRequest, seed: number): UsersOfBatch | undefined {
  if (!opened.isBatch || opened.items.length === 0) return undefined;
  const spans = opened.items.map((_, index) => opened.bytesOf(index));
  const starts = spans.map(({ byteOffset }) => byteOffset - body.byteOffset);
  return {
    starts,
    ends: spans.map(({ length }, index) => (starts[index] as number) + length),
    hashes: opened.items.map((item) => hashOf(item, seed)),
  };
}

/** Of what has no user: it is refused, in whichever partition it arrives. */
function hashOf(item: unknown, seed: number): number {
  const user = isPlainObject(item) ? item.userId || item.anonymousId : undefined;
  return userHash(typeof user === "string" ? user : "", seed);
}
