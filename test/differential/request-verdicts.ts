import { expect } from "vitest";
import { CollectorError } from "../../apps/collector/src/errors.js";
import { openRequest } from "../../apps/collector/src/ingest/messages/open-request.js";
import { messageReader } from "../../apps/collector/src/ingest/messages/read-messages.js";
import { validateMessages } from "../../apps/collector/src/ingest/messages/validate-messages.js";
import { namedKeys } from "../../apps/collector/src/ingest/sources/authenticator.js";
import { findWriteKey } from "../../packages/event-log/src/bytes/find-fields.js";
import type { MessageKey, Offset } from "../../packages/event-log/src/message/batch.js";
import { decodeBatch } from "../../packages/event-log/src/message/decode-batch.js";
import { type ScannedRequest, scanRequest } from "../../packages/event-log/src/message/scan-request.js";
import type { MessageKind } from "../../packages/protocol/src/messages/message.js";

/** What parser and validator make of a request. */
export type Verdict =
  | { readonly kind: "refused"; readonly code: string }
  | {
      readonly kind: "read";
      /** Every message is valid as it stands: nothing was refused, made or filled in. */
      readonly isRegular: boolean;
      readonly keys: readonly MessageKey[];
      readonly writeKey: string | undefined;
      readonly isBatch: boolean;
      readonly issues: readonly (readonly [index: number, code: string | undefined])[];
    };

export function verdictOf(body: Buffer, kind: MessageKind | undefined): Verdict {
  try {
    const opened = openRequest(body, kind);
    const { keys, refusals, madeIds, wantsIp } = validateMessages(opened, {
      isForeignKey: () => true,
      makeId: () => "made",
    });
    const isSame = Buffer.from(opened.body).equals(body);
    return {
      kind: "read",
      isRegular: refusals.length === 0 && madeIds.length === 0 && !wantsIp && isSame,
      keys,
      writeKey: namedKeys(opened).ofRequest,
      isBatch: opened.isBatch,
      issues: refusals.map(({ index, issues }) => [index, issues[0]?.code]),
    };
  } catch (error) {
    if (!(error instanceof CollectorError)) throw error;
    return { kind: "refused", code: error.code };
  }
}

/** Holds the byte scanner against parser and validator. Returns whether the scanner took the request. */
export function checkRequest(body: Buffer, kind: MessageKind | undefined): boolean {
  const scanned = scannedRequest(body, kind);
  const verdict = verdictOf(body, kind);
  if (verdict.kind === "refused") {
    expect(["malformed_json", "payload_too_large", "invalid_message"]).toContain(verdict.code);
    expect(scanned, verdict.code).toBeUndefined();
    return false;
  }
  if (verdict.writeKey !== undefined && verdict.writeKey.length < 500)
    expect(findWriteKey(body, kind === undefined)).toBe(verdict.writeKey);
  if (scanned === undefined) return false;
  expect(verdict.isRegular, JSON.stringify(verdict.issues)).toBe(true);
  expect({ keys: scanned.keys, writeKey: scanned.writeKey, isBatch: scanned.isBatch }).toEqual({
    keys: verdict.keys,
    writeKey: verdict.writeKey,
    isBatch: verdict.isBatch,
  });
  checkStored(body, kind, scanned.keys);
  return true;
}

const read = messageReader(undefined);

/** The scan, if ingestion would use it. */
function scannedRequest(body: Buffer, kind: MessageKind | undefined): ScannedRequest | undefined {
  if (scanRequest(body, kind) === undefined) return undefined;
  try {
    const result = read(body, kind, false);
    if (result instanceof Promise) {
      result.catch(() => {});
      return undefined;
    }
    return result.kind === "scanned" ? result.scan : undefined;
  } catch (error) {
    if (!(error instanceof CollectorError)) throw error;
    return undefined;
  }
}

/** The log keeps the bytes. What is read from them later has the ids that ingestion indexed. */
function checkStored(body: Buffer, kind: MessageKind | undefined, keys: readonly MessageKey[]): void {
  const stored = decodeBatch({
    ...{
      first: 0 as Offset,
      sourceId: "src",
      receivedAtMs: 0,
      body,
      itemCount: keys.length,
      skipped: [],
      madeIds: [],
    },
    ...(kind === undefined ? {} : { kind }),
  });
  expect(
    stored.map(({ messageId, message }) => [messageId, message.type, message.userId ?? message.anonymousId]),
  ).toEqual(keys.map(({ messageId, type, userId }) => [messageId, type, userId]));
}
