import type { Offset, StoredMessage } from "@sluice/event-log";
import { identityOf } from "@sluice/event-log";
import {
  INCIDENT_SOURCE_ID,
  isMessageKind,
  isPlainObject,
  type JsonObject,
  resolveTime,
} from "@sluice/protocol";
import type { DestinationType } from "../../destinations/destination.js";
import type { Connection, DestinationDocument, SourceDocument } from "../../documents/documents.js";
import type { Suppressions } from "../../documents/suppressions.js";
import { applyFilters } from "./apply-filters.js";

/** Everything that decides which messages a destination gets. Built again when its document changes. */
export interface Routing {
  readonly destinationId: string;
  readonly document: DestinationDocument;
  readonly type: Pick<DestinationType, "name" | "sources" | "historical">;
  readonly connections: ReadonlyMap<string, readonly Connection[]>;
  /** Current source documents. */
  readonly sources: { get(id: string): SourceDocument | undefined };
  /** Whether a user was suppressed when the message at an offset came. Default: never. */
  readonly isSuppressed?: Suppressions["covers"];
}

export type Match =
  | { readonly kind: "deliver"; readonly message: JsonObject; readonly timeMs: number }
  /** Configuration or the message itself excludes the destination. The reason names which. */
  | { readonly kind: "filtered"; readonly reason: string }
  /** The destination was disabled when it came. */
  | { readonly kind: "skipped"; readonly reason: string }
  /** It came while its user was suppressed. A replay does not send it either. */
  | { readonly kind: "suppressed"; readonly reason: string }
  /** The source is not connected to the destination. */
  | { readonly kind: "unconnected" };

export function routingOf(
  destinationId: string,
  document: DestinationDocument,
  type: Routing["type"],
  sources: Routing["sources"],
  isSuppressed?: Suppressions["covers"],
): Routing {
  const connections = new Map<string, Connection[]>();
  for (const connection of document.connections) {
    const others = connections.get(connection.sourceId);
    if (others === undefined) connections.set(connection.sourceId, [connection]);
    else others.push(connection);
  }
  return {
    destinationId,
    document,
    type,
    connections,
    sources,
    ...(isSuppressed === undefined ? {} : { isSuppressed }),
  };
}

/**
 * Whether a destination gets a message. A `replay` was asked for by a person, so it also goes to a destination that was disabled, or
 * not connected yet, when the message came.
 */
export function match(stored: StoredMessage, routing: Routing, replay: boolean): Match {
  const { destinationId, document, type } = routing;
  const { message, receivedAtMs } = stored;
  const timeMs = resolveTime(message, receivedAtMs);
  if (stored.onlyDestinations !== undefined) {
    if (!stored.onlyDestinations.includes(destinationId)) return { kind: "unconnected" };
    return skipped(stored, routing, replay) ?? { kind: "deliver", message, timeMs };
  }
  if (!isConnected(stored, routing, replay)) return { kind: "unconnected" };
  if (routing.isSuppressed?.(identityOf(message), stored.offset)) {
    return { kind: "suppressed", reason: "the user is suppressed" };
  }
  const whileDisabled = skipped(stored, routing, replay);
  if (whileDisabled !== undefined) return whileDisabled;

  const off = excludedBySource(stored, routing) ?? excludedBySender(stored, routing, replay);
  if (off !== undefined) return { kind: "filtered", reason: off };
  if (!type.historical.accepted && receivedAtMs - timeMs > type.historical.limitMs) {
    return { kind: "filtered", reason: "historical" };
  }
  const filtered = applyFilters(document.filters, message, stored.messageId);
  return filtered.kind === "filtered" ? filtered : { kind: "deliver", message: filtered.message, timeMs };
}

/** Why the source's messages, or this one of them, do not go to the destination; undefined if they do. */
function excludedBySource(
  stored: StoredMessage,
  { destinationId, type, sources }: Routing,
): string | undefined {
  const { message, sourceId } = stored;
  if (isOwnIncident(stored, destinationId)) return "own incident: it is about this destination";
  const source = sources.get(sourceId);
  if (source === undefined) return undefined;
  if (!type.sources.includes(source.kind))
    return `source kind: ${type.name} does not work for ${source.kind} sources`;
  if (message.type === "track" && source.blockedEvents.includes(message.event as string))
    return "blocked event: the source blocks it";
  return undefined;
}

/** A destination that fails would fail with the message about it, too, and recover by it. */
function isOwnIncident({ sourceId, message: { properties } }: StoredMessage, destinationId: string): boolean {
  return (
    sourceId === INCIDENT_SOURCE_ID &&
    isPlainObject(properties) &&
    properties.destination_id === destinationId
  );
}

/** Why the sender excludes the destination, in the message or for its whole batch; undefined if it does not. */
function excludedBySender(
  { message: { integrations }, isWithoutDelivery }: StoredMessage,
  { document, type }: Routing,
  replay: boolean,
): string | undefined {
  const off = disabledByIntegrations(integrations, document.name, type.name);
  if (off !== undefined || !isWithoutDelivery || replay) return off;
  return isNamed(integrations, document.name, type.name) ? undefined : WITHOUT_DELIVERY;
}

function isConnected({ sourceId, offset }: StoredMessage, routing: Routing, replay: boolean): boolean {
  const connections = routing.connections.get(sourceId);
  if (connections === undefined) return false;
  return (
    replay || connections.some(({ since, upTo }) => offset > since && (upTo === undefined || offset <= upTo))
  );
}

function skipped({ offset }: StoredMessage, { document }: Routing, replay: boolean): Match | undefined {
  return !replay && wasDisabledAt(document, offset) ? { kind: "skipped", reason: WAS_DISABLED } : undefined;
}

/** Its batch said `"deliver": false`, and its own `integrations` do not name the destination. */
export const WITHOUT_DELIVERY = "not delivered: imported without delivery";

export const WAS_DISABLED = "the destination was disabled";

/** Whether a message came while the destination was disabled. It will be skipped, even if no outcome is stored yet. */
export function wasDisabledAt({ disabledSpans }: DestinationDocument, offset: Offset): boolean {
  return disabledSpans.some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo));
}

/** Whether destinations take this kind of message. The log should hold no others. */
export function isOutbound(message: JsonObject): message is JsonObject & { type: "delete" } {
  return message.type === "delete" || isMessageKind(message.type);
}

/**
 * Why a message's `integrations` exclude a destination, or undefined. The destination's own name takes precedence, then the catalog
 * name, then `All`. A value that is not a boolean means enabled. Names are case-sensitive.
 */
function disabledByIntegrations(
  integrations: unknown,
  ownName: string,
  catalogName: string,
): string | undefined {
  if (!isPlainObject(integrations)) return undefined;
  for (const name of [ownName, catalogName, "All"]) {
    if (Object.hasOwn(integrations, name)) {
      return integrations[name] === false ? `integrations: ${name} is false` : undefined;
    }
  }
  return undefined;
}

/** Whether a message's `integrations` ask for a destination by its own or its catalog name. `All` names none. */
function isNamed(integrations: unknown, ownName: string, catalogName: string): boolean {
  if (!isPlainObject(integrations)) return false;
  const name = [ownName, catalogName].find((one) => Object.hasOwn(integrations, one));
  return name !== undefined && integrations[name] !== false;
}
