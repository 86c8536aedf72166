import type { SourceInput, SourcePatch } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime, type Region } from "@sluice/protocol";
import {
  type ConnectionDeps,
  changeDestination,
  connectedSources,
  unknownTransformation,
} from "../../delivery/control/connections.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { newId, newWriteKey } from "../../documents/new-id.js";
import { CollectorError } from "../../errors.js";
import { withoutUndefined } from "../document-resource.js";

/** A client that adds more keys to one source than this does not delete them. */
const MAX_WRITE_KEYS = 50;

type Source = Versioned<SourceDocument>;

/** Stores a source with its first write key. */
export async function createSource(
  config: ConfigStore,
  input: SourceInput,
  region: Region | undefined,
  nowMs: number,
): Promise<Source> {
  const createdAt = formatTime(nowMs);
  await checkTransformation(config, input.transformationId);
  const source: SourceDocument = withoutUndefined({
    name: input.name,
    kind: input.kind ?? "server",
    createdAt,
    writeKeys: [{ key: newWriteKey(region), createdAt }],
    blockedEvents: input.blockedEvents ?? [],
    rateLimit: input.rateLimit,
    identity: input.identity,
    transformationId: input.transformationId,
    region,
  });
  return config.put(DOCUMENT_KINDS.source, newId("src"), source, 0);
}

export async function patchSource(config: ConfigStore, source: Source, patch: SourcePatch): Promise<Source> {
  await checkTransformation(config, patch.transformationId ?? undefined);
  const { rateLimit, identity, transformationId, ...rest } = source.value;
  const { version: _, ...given } = patch;
  const changed = Object.entries({ rateLimit, identity, transformationId, ...given });
  const kept = Object.fromEntries(changed.filter(([, value]) => value !== null && value !== undefined));
  return store(config, source, { ...rest, ...kept });
}

async function checkTransformation(config: ConfigStore, id: string | undefined): Promise<void> {
  const [issue] = await unknownTransformation(config, id);
  if (issue !== undefined)
    throw new CollectorError("invalid_request", `${issue.path}: ${issue.message}`, {
      details: { issues: [issue] },
    });
}

export async function addWriteKey(
  config: ConfigStore,
  source: Source,
  region: Region | undefined,
  nowMs: number,
): Promise<Source> {
  const { writeKeys } = source.value;
  if (writeKeys.length >= MAX_WRITE_KEYS)
    throw new CollectorError(
      "conflict",
      `it already has ${MAX_WRITE_KEYS} write keys: delete old ones first`,
    );
  const keyRegion = region === undefined ? undefined : (source.value.region ?? region);
  const key = { key: newWriteKey(keyRegion), createdAt: formatTime(nowMs) };
  return store(config, source, { ...source.value, writeKeys: [...writeKeys, key] });
}

export async function removeWriteKey(config: ConfigStore, source: Source, removed: string): Promise<Source> {
  const writeKeys = source.value.writeKeys.filter(({ key }) => key !== removed);
  if (writeKeys.length === source.value.writeKeys.length)
    throw new CollectorError("not_found", "the source has no such write key");
  return store(config, source, { ...source.value, writeKeys });
}

/** Deletes the source. Its messages still go to its destinations: the connections end here, they are not undone. */
export async function deleteSource(parts: ConnectionDeps, id: string): Promise<void> {
  const { config } = parts.store;
  await config.delete(DOCUMENT_KINDS.source, id);
  await config.delete(DOCUMENT_KINDS.sourcePlan, id);
  for (const destination of await config.list<DestinationDocument>(DOCUMENT_KINDS.destination)) {
    const sourceIds = connectedSources(destination.value);
    if (!sourceIds.includes(id)) continue;
    const rest = sourceIds.filter((sourceId) => sourceId !== id);
    await changeDestination(parts, destination.id, { sourceIds: rest });
  }
}

/** Stores the change under the version that was read, so that of two changes made at once one is refused. */
function store(config: ConfigStore, { id, version }: Source, changed: SourceDocument): Promise<Source> {
  return config.put(DOCUMENT_KINDS.source, id, changed, version);
}
