import type { RequestBodyView } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store, type StoredMessage } from "@sluice/event-log";
import { formatTime, resolveTime } from "@sluice/protocol";
import { applyFilters } from "../../delivery/routing/apply-filters.js";
import { isOutbound } from "../../delivery/routing/match.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { OutgoingMessage } from "../../destinations/destination.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { chainOf, type Transformations } from "../../transformations/transformations.js";

export interface BodySources {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly transformations: Pick<Transformations, "apply">;
}

/**
 * The body that the destination's requests for a message have, made again with its present settings, filters and transformations; of
 * several messages, that of the first. Undefined if the destination was deleted, sends no requests, or would not send the message now.
 * `mostBytes`: where to cut it. Default: not at all.
 */
export async function requestBodyOf(
  { store, catalog, transformations }: BodySources,
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
  const requestBody = catalog.get(type)?.requestBody;
  if (requestBody === undefined) return undefined;
  const timestamp = formatTime(resolveTime(stored.message, stored.receivedAtMs));
  const outgoing: OutgoingMessage = { ...stored, message: kept.message, timestamp };
  const source = await store.config.get<SourceDocument>(DOCUMENT_KINDS.source, stored.sourceId);
  const sent = await transformed(outgoing, chainOf(source?.value, found.value), transformations);
  const body = sent && requestBody(settings, sent);
  if (body === undefined) return undefined;
  const bytes = Buffer.byteLength(body);
  return {
    text: bytes > mostBytes ? startOf(body, mostBytes) : body,
    bytes,
    ...(settingsChangedAt === undefined ? {} : { settingsChangedAt }),
  };
}

/** The first message that is sent for one; undefined if none is. */
async function transformed(
  outgoing: OutgoingMessage,
  chain: readonly string[],
  transformations: BodySources["transformations"],
): Promise<OutgoingMessage | undefined> {
  if (chain.length === 0 || outgoing.message.type === "delete") return outgoing;
  const result = await transformations.apply(chain, outgoing);
  return result.kind === "messages" ? result.messages[0] : undefined;
}

/** The first bytes of a text, without a character that they contain only a part of. */
function startOf(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}
