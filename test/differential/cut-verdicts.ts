import { expect } from "vitest";
import { cutBatch } from "../../apps/collector/src/cluster/gateway/spread/cut-batch.js";
import {
  type UsersOfBatch,
  userOfMessage,
  usersOfBatch,
} from "../../apps/collector/src/cluster/gateway/spread/find-users.js";
import { CollectorError } from "../../apps/collector/src/errors.js";
import { type OpenedRequest, openRequest } from "../../apps/collector/src/ingest/messages/open-request.js";
import { scanUsers, userHash } from "../../packages/event-log/src/message/scan-users.js";
import { LIMITS } from "../../packages/protocol/src/limits.js";
import { isPlainObject } from "../../packages/protocol/src/messages/coerce.js";

const SEED = 7;
const PARTITIONS = [2, 3, 0];

/** Holds the cutting of batches against the parser: the same messages in the same order, each with its user. Returns whether a scan was enough. */
export function checkCut(body: Buffer): boolean {
  // Larger ones are parsed in slices, by the same code.
  if (body.length > LIMITS.messageBytes) return false;
  const opened = orRefusal(() => openRequest(body, undefined));
  const users = orRefusal(() => usersOfBatch(body, SEED, Promise.resolve) as UsersOfBatch | undefined);
  if (opened instanceof CollectorError || users instanceof CollectorError) {
    expect([users, opened]).toEqual([expect.any(CollectorError), expect.any(CollectorError)]);
    return false;
  }
  if (!opened.isBatch || opened.items.length === 0) {
    expect(users).toBeUndefined();
    return false;
  }
  checkParts(body, opened, users as UsersOfBatch);
  return scanUsers(body, SEED) !== undefined;
}

function checkParts(body: Buffer, opened: OpenedRequest, users: UsersOfBatch): void {
  expect(users.starts).toHaveLength(opened.items.length);
  for (const [index, item] of opened.items.entries()) {
    const bytes = body.subarray(users.starts[index], users.ends[index]);
    expect(bytes.equals(opened.bytesOf(index)), `message ${index}`).toBe(true);
    const user = userOf(item);
    if (user !== undefined && user !== "" && !opened.largeItems.has(index))
      expect(users.hashes[index], `user of message ${index}`).toBe(userHash(user, SEED));
  }
  const seen: number[] = [];
  for (const { partition, body: part, indexes } of cutBatch(body, users, PARTITIONS)) {
    const own = indexes ?? opened.items.map((_, index) => index);
    const reopened = openRequest(part, undefined);
    expect(own).toEqual([...own].sort((one, other) => one - other));
    expect(reopened.items.map(textOf)).toEqual(own.map((index) => textOf(opened.items[index])));
    expect(aroundOf(reopened)).toBe(aroundOf(opened));
    for (const index of own) expect(PARTITIONS[(users.hashes[index] as number) % 3]).toBe(partition);
    seen.push(...own);
  }
  expect(seen.sort((one, other) => one - other)).toEqual(opened.items.map((_, index) => index));
}

/** Holds the user of a single message against the parser. */
export function checkSingle(body: Buffer): void {
  const opened = orRefusal(() => openRequest(body, "track"));
  const hash = orRefusal(() => userOfMessage(body, "track", SEED));
  if (opened instanceof CollectorError || hash instanceof CollectorError) {
    expect([hash, opened]).toEqual([expect.any(CollectorError), expect.any(CollectorError)]);
    return;
  }
  const user = userOf(opened.items[0]);
  if (user !== undefined) expect(hash).toBe(userHash(user, SEED));
}

function orRefusal<T>(run: () => T): T | CollectorError {
  try {
    return run();
  } catch (error) {
    if (error instanceof CollectorError) return error;
    throw error;
  }
}

/** Undefined: its message is refused. */
function userOf(item: unknown): string | undefined {
  const user = isPlainObject(item) ? item.userId || item.anonymousId : undefined;
  return typeof user === "string" ? user : undefined;
}

function textOf(item: unknown): string {
  return JSON.stringify(item);
}

function aroundOf({ root }: OpenedRequest): string {
  return JSON.stringify({ ...root, batch: undefined });
}
