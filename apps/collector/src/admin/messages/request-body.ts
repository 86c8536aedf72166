import type { RequestBodyView } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store, type StoredMessage } from "@sluice/event-log";
import { formatTime, resolveTime } from "@sluice/protocol";
import { applyFilters } from "../../delivery/routing/apply-filters.js";
import { isOutbound } from "../../delivery/routing/match.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";

export interface BodySources {
  readonly store: Store;
  readonly catalog: Catalog;
}

/**
 * The body that the destination's requests for a message have, made again with its present settings and filters. Undefined if the
 * destination was deleted, sends no requests, or would not send the message now. `mostBytes`: where to cut it. Default: not at all.
 */
export async function requestBodyOf(
  { store, catalog }: BodySources,
  destinationId: string,
  stored: StoredMessage,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<RequestBodyView | undefined> {
  const found = await store.config.get<DestinationDocument>(DOCUMENT_KINDS.destination, destinationId);
  if (found === undefined) return undefined;
  const { type, settings, filters, settingsChangedAt } = found.value;
  const { messageId, onlyDestinations } = stored;
  // Messages for chosen destinations, such as tests and deletions, pass no filters.
  const kept =
    onlyDestinations === undefined
      ? applyFilters(filters, stored.message, messageId)
      : { kind: "kept" as const, message: stored.message };
  if (kept.kind === "filtered" || !isOutbound(kept.message)) return undefined;
  const timestamp = formatTime(resolveTime(stored.message, stored.receivedAtMs));
  const outgoing = { message: kept.message, timestamp };
  const body = catalog.get(type)?.requestBody?.(settings, outgoing);
  if (body === undefined) return undefined;
  const bytes = Buffer.byteLength(body);
  return {
    text: bytes > mostBytes ? startOf(body, mostBytes) : body,
    bytes,
    ...(settingsChangedAt === undefined ? {} : { settingsChangedAt }),
  };
}

/** The first bytes of a text, without a character that they contain only a part of. */
function startOf(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}
