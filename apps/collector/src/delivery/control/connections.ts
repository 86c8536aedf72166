import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ConfigStore, Offset, Store, Versioned } from "@sluice/event-log";
import { BEFORE_FIRST, DOCUMENT_KINDS, VersionConflict } from "@sluice/event-log";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { type Catalog, withoutType } from "../../destinations/catalog.js";
import type { SettingsIssue } from "../../destinations/destination.js";
import type {
  CatchUpDocument,
  Connection,
  DestinationDocument,
  DisabledSpan,
  SourceDocument,
} from "../../documents/documents.js";
import { parseFilters } from "../routing/parse-filters.js";

/**
 * Changes of destinations that are consistent with the log. Offsets decide what a destination gets (connected after one, disabled
 * between two), so the answer for a message is the same whenever it is asked.
 */
export interface ConnectionDeps {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
}

export interface NewDestination {
  readonly type: string;
  /** Default: the catalog's name, with a number if it is taken. */
  readonly name?: string;
  readonly sourceIds?: readonly string[];
  readonly settings?: unknown;
  /** Default: true. */
  readonly enabled?: boolean;
  readonly filters?: unknown;
  /** How long a failed message is retried, in milliseconds. Default: 14_400_000 (4 h). */
  readonly retryForMs?: number;
  /** How long it may fail before that is an incident, in milliseconds. Default: 900_000 (15 min). */
  readonly notifyAfterMs?: number;
  readonly transformationId?: string;
}

export interface DestinationChange {
  readonly name?: string;
  /** All sources to connect from now on. */
  readonly sourceIds?: readonly string[];
  /** Merged over the stored settings; null removes a key. */
  readonly settings?: unknown;
  readonly enabled?: boolean;
  /** When it is enabled: whether what came before is sent. Default: send. */
  readonly backlog?: "send" | "skip";
  readonly filters?: unknown;
  /** Also applies to messages that are being retried. */
  readonly retryForMs?: number;
  readonly notifyAfterMs?: number;
  /** null detaches it. */
  readonly transformationId?: string | null;
  /** Change only if this is the current version. */
  readonly version?: number;
}

export type ChangeResult =
  | { readonly kind: "changed"; readonly destination: Versioned<DestinationDocument> }
  | { readonly kind: "invalid"; readonly issues: readonly SettingsIssue[] }
  | { readonly kind: "not_found" };

/** Creates a destination. It gets its sources' messages from now on. */
export async function createDestination(deps: ConnectionDeps, input: NewDestination): Promise<ChangeResult> {
  const { store, catalog, clock } = deps;
  const type = catalog.get(input.type);
  if (type === undefined) {
    const known = catalog.types.map((entry) => entry.type).join(", ");
    return invalid({
      path: "type",
      code: "unknown_type",
      message: `${withoutType(input.type, catalog)}. There are ${known}`,
    });
  }
  const sourceIds = [...new Set(input.sourceIds ?? [])];
  const issues = await unknownSources(store, sourceIds);
  issues.push(...(await unknownTransformation(store.config, input.transformationId)));
  const settings = await type.parseSettings(input.settings ?? {}, undefined);
  if (!settings.ok) issues.push(...settings.issues);
  const filters = parseFilters(input.filters ?? []);
  if (!filters.ok) issues.push(...filters.issues);
  if (!settings.ok || !filters.ok || issues.length > 0) return { kind: "invalid", issues };

  const head = store.log.head();
  const enabled = input.enabled ?? true;
  const destination = await store.config.put<DestinationDocument>(
    DOCUMENT_KINDS.destination,
    `dst_${randomUUID().replaceAll("-", "")}`,
    {
      type: type.type,
      name: input.name ?? (await freeName(store, type.name)),
      enabled,
      createdAt: new Date(clock.now()).toISOString(),
      connections: sourceIds.map((sourceId) => ({ sourceId, since: head })),
      disabledSpans: enabled ? [] : [{ after: head }],
      filters: filters.rules,
      settings: settings.settings,
      ...periodsOf(input),
      ...(input.transformationId === undefined ? {} : { transformationId: input.transformationId }),
    },
    0,
  );
  return { kind: "changed", destination };
}

/** The catalog's name, with the first free number if a destination has it already: commands find destinations by name. */
async function freeName(store: Store, name: string): Promise<string> {
  const destinations = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const taken = new Set(destinations.map(({ value }) => value.name));
  for (let number = 1; ; number++) {
    const wanted = number === 1 ? name : `${name} ${number}`;
    if (!taken.has(wanted)) return wanted;
  }
}

/** Changes a destination. Messages that are already queued are not lost. */
export async function changeDestination(
  deps: ConnectionDeps,
  id: string,
  change: DestinationChange,
): Promise<ChangeResult> {
  const { store } = deps;
  for (;;) {
    const before = await store.config.get<DestinationDocument>(DOCUMENT_KINDS.destination, id);
    if (before === undefined) return { kind: "not_found" };
    if (change.version !== undefined && change.version !== before.version) {
      throw new VersionConflict(DOCUMENT_KINDS.destination, id, before.version);
    }
    const after = await applyChange(deps, before.value, change);
    if ("issues" in after) return { kind: "invalid", issues: after.issues };
    // Written before the change itself, so that a collector killed in between finds it at its next start.
    await noteCatchUps(store, id, addedConnections(before.value, after));
    try {
      const destination = await store.config.put(DOCUMENT_KINDS.destination, id, after, before.version);
      return { kind: "changed", destination };
    } catch (error) {
      // Another change came first, for example a URL that answered 410. Apply ours on top of it.
      if (!(error instanceof VersionConflict) || change.version !== undefined) throw error;
    }
  }
}

export async function noteCatchUps(store: Store, id: string, added: readonly Connection[]): Promise<void> {
  for (const { sourceId, since } of added) {
    const document: CatchUpDocument = { destinationId: id, sourceId, since };
    await store.config.put(DOCUMENT_KINDS.catchUp, `${id}/${sourceId}`, document);
  }
}

/** Deletes a destination with all that is stored about its deliveries. Resolves with false if there was none. */
export async function removeDestination(store: Store, id: string): Promise<boolean> {
  const existed = await store.config.delete(DOCUMENT_KINDS.destination, id);
  if (existed) await store.consumers.remove(id);
  for (const mark of await store.config.list<CatchUpDocument>(DOCUMENT_KINDS.catchUp)) {
    if (mark.value.destinationId === id) await store.config.delete(DOCUMENT_KINDS.catchUp, mark.id);
  }
  return existed;
}

/** Sources that are connected now. */
export function connectedSources(destination: DestinationDocument): string[] {
  return destination.connections.filter(({ upTo }) => upTo === undefined).map(({ sourceId }) => sourceId);
}

/** The document after a change, or what is wrong with the change. */
async function applyChange(
  { store, catalog, clock }: ConnectionDeps,
  before: DestinationDocument,
  change: DestinationChange,
): Promise<DestinationDocument | { readonly issues: readonly SettingsIssue[] }> {
  const { name = before.name } = change;
  const settings = await applySettings(catalog, before, change.settings);
  // Read after the settings, whose check may resolve host names: messages that arrive meanwhile follow the old connections.
  const head = store.log.head();
  const parts: readonly Applied[] = [
    settings,
    applyFilters(change.filters),
    await applySources(store, before, change.sourceIds, head),
    applyEnabled(before, change, head),
    { issues: await unknownTransformation(store.config, change.transformationId ?? undefined) },
  ];
  const issues = parts.flatMap((part) => part.issues ?? []);
  if (issues.length > 0) return { issues };
  const fields: readonly (Partial<DestinationDocument> | undefined)[] = parts.map((part) => part.fields);
  const { transformationId: attached, ...others } = before;
  const transformationId = change.transformationId === undefined ? attached : change.transformationId;
  const after: DestinationDocument = Object.assign(
    { ...others, ...(typeof transformationId === "string" ? { transformationId } : {}) },
    { name, ...periodsOf(change) },
    ...fields,
  );
  return areSettingsEqual(before, after)
    ? after
    : { ...after, settingsChangedAt: new Date(clock.now()).toISOString() };
}

/** Whether both send the same requests for a message. */
function areSettingsEqual(one: DestinationDocument, other: DestinationDocument): boolean {
  const parts = ({ settings, filters, transformationId }: DestinationDocument) => [
    settings,
    filters,
    transformationId,
  ];
  return isDeepStrictEqual(parts(one), parts(other));
}

/** The periods that were given. */
function periodsOf({
  retryForMs,
  notifyAfterMs,
}: DestinationChange): Pick<DestinationDocument, "retryForMs" | "notifyAfterMs"> {
  return {
    ...(retryForMs === undefined ? {} : { retryForMs }),
    ...(notifyAfterMs === undefined ? {} : { notifyAfterMs }),
  };
}

/** Changed fields of a document, or what is wrong with them. */
interface Applied {
  readonly fields?: Partial<DestinationDocument>;
  readonly issues?: readonly SettingsIssue[];
}

async function applySettings(
  catalog: Catalog,
  { type, settings: before }: DestinationDocument,
  change: unknown,
): Promise<Applied> {
  if (change === undefined) return {};
  const parsed = await catalog.get(type)?.parseSettings(change, before);
  if (parsed === undefined) {
    const message = `This collector has no destination type ${type}`;
    return { issues: [{ path: "type", code: "unknown_type", message }] };
  }
  return parsed.ok ? { fields: { settings: parsed.settings } } : { issues: parsed.issues };
}

function applyFilters(change: unknown): Applied {
  if (change === undefined) return {};
  const filters = parseFilters(change);
  return filters.ok ? { fields: { filters: filters.rules } } : { issues: filters.issues };
}

async function applySources(
  store: Store,
  before: DestinationDocument,
  sourceIds: readonly string[] | undefined,
  head: Offset,
): Promise<Applied> {
  if (sourceIds === undefined) return {};
  const added = sourceIds.filter((sourceId) => !connectedSources(before).includes(sourceId));
  return {
    fields: { connections: reconnect(before.connections, sourceIds, head) },
    issues: await unknownSources(store, added),
  };
}

function applyEnabled(
  { enabled: before, disabledSpans }: DestinationDocument,
  { enabled, backlog }: Pick<DestinationChange, "enabled" | "backlog">,
  head: Offset,
): Applied {
  if (backlog !== undefined && (enabled !== true || before)) {
    const message = "backlog goes with enabled: true, for a destination that is disabled";
    return { issues: [{ path: "backlog", code: "not_disabled", message }] };
  }
  if (enabled === undefined || enabled === before) return {};
  if (backlog === "skip")
    return { fields: { enabled, disabledSpans: [{ after: BEFORE_FIRST, upTo: head }] } };
  return { fields: { enabled, disabledSpans: switchSpans(disabledSpans, enabled, head) } };
}

/** The connections when exactly these sources are connected from `head` on. */
export function reconnect(
  connections: readonly Connection[],
  sourceIds: readonly string[],
  head: Offset,
): Connection[] {
  const wanted = new Set(sourceIds);
  const kept = connections.map((connection) => {
    if (connection.upTo !== undefined) return connection;
    return wanted.delete(connection.sourceId) ? connection : { ...connection, upTo: head };
  });
  return [
    ...kept.filter(({ since, upTo }) => upTo === undefined || upTo > since),
    ...[...wanted].map((sourceId) => ({ sourceId, since: head })),
  ];
}

/** New connections. */
export function addedConnections(
  before: Pick<DestinationDocument, "connections">,
  after: Pick<DestinationDocument, "connections">,
): Connection[] {
  return after.connections.filter(
    ({ sourceId, since, upTo }) =>
      upTo === undefined &&
      !before.connections.some((known) => known.sourceId === sourceId && known.since === since),
  );
}

/** The disabled spans when the destination is enabled or disabled from `head` on. */
export function switchSpans(spans: readonly DisabledSpan[], enabled: boolean, head: Offset): DisabledSpan[] {
  const ended = spans
    .map(({ after, upTo = head }) => ({ after, upTo }))
    .filter(({ after, upTo }) => upTo > after);
  return enabled ? ended : [...ended, { after: head }];
}

async function unknownSources(store: Store, sourceIds: readonly string[]): Promise<SettingsIssue[]> {
  const issues: SettingsIssue[] = [];
  for (const [index, sourceId] of sourceIds.entries()) {
    if (sourceId === INCIDENT_SOURCE_ID) continue;
    if ((await store.config.get<SourceDocument>(DOCUMENT_KINDS.source, sourceId)) === undefined) {
      issues.push({
        path: `sourceIds[${index}]`,
        code: "unknown_source",
        message: `There is no source ${sourceId}`,
      });
    }
  }
  return issues;
}

/** What is wrong with a reference to a transformation. */
export async function unknownTransformation(
  config: Pick<ConfigStore, "get">,
  id: string | undefined,
): Promise<SettingsIssue[]> {
  if (id === undefined || (await config.get(DOCUMENT_KINDS.transformation, id)) !== undefined) return [];
  const message = `There is no transformation ${id}`;
  return [{ path: "transformationId", code: "unknown_transformation", message }];
}

function invalid(...issues: SettingsIssue[]): ChangeResult {
  return { kind: "invalid", issues };
}
