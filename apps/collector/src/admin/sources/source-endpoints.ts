import { identityPolicyOf } from "@sluice/audiences";
import type {
  EventNamesView,
  SourcePlanInput,
  SourcePlanView,
  SourceView,
  WriteKeyView,
} from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime, PLAN_LIMITS, type Region, readPlan } from "@sluice/protocol";
import type { SourceDocument, SourcePlanDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { ENTRY_LIMITS, type EventEntry } from "../../events/event-entry.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { documentResource, withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { addWriteKey, createSource, deleteSource, patchSource, removeWriteKey } from "./change-source.js";
import { listEvents } from "./list-events.js";

const LIMITS = { names: 1_000, properties: 100 } as const;

type Counted = Pick<EventEntry, "type" | "name" | "count" | "properties">;

/** The track events of several sources by name: those that were sent most, each with the properties of all sources. */
export function eventNames(entries: Iterable<Counted>): EventNamesView {
  const byName = new Map<string, { count: number; readonly properties: Set<string> }>();
  for (const { type, name, count, properties } of entries) {
    // A name of the full length may have been cut.
    if (type !== "track" || name === undefined || name.length >= ENTRY_LIMITS.nameLength) continue;
    const merged = byName.get(name) ?? { count: 0, properties: new Set<string>() };
    merged.count += count;
    for (const property of Object.keys(properties)) merged.properties.add(property);
    byName.set(name, merged);
  }
  const items = [...byName]
    .sort(([, one], [, other]) => other.count - one.count)
    .slice(0, LIMITS.names)
    .map(([name, { properties }]) => ({
      name,
      properties: [...properties].sort().slice(0, LIMITS.properties),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return { items };
}

const sources = documentResource<SourceDocument>(DOCUMENT_KINDS.source, "source");

export const sourceEndpoints: readonly Endpoint[] = [
  endpoint("POST /sources", async ({ body, token }, { store, clock, region }) => {
    const source = await createSource(store.config, body, region, clock.now());
    return { status: 201, body: sourceView(source, token, region) };
  }),
  endpoint("GET /sources", async ({ query, token }, { store, region }) => {
    const body = await sources.list(store.config, query, (source) => sourceView(source, token, region));
    return { status: 200, body };
  }),
  endpoint("GET /sources/:id", async ({ params, token }, { store, region }) => {
    return { status: 200, body: sourceView(await sources.find(store.config, params.id), token, region) };
  }),
  endpoint("PATCH /sources/:id", async (request, { store, region }) => {
    const source = await sources.findToChange(store.config, request);
    const changed = await patchSource(store.config, source, request.body);
    return { status: 200, body: sourceView(changed, request.token, region) };
  }),
  endpoint("DELETE /sources/:id", async ({ params }, context) => {
    const { id } = await sources.find(context.store.config, params.id);
    await deleteSource(context, id);
    return { status: 204 };
  }),
  endpoint("GET /sources/:id/usage", async ({ params }, { store }) => {
    const { id } = await sources.find(store.config, params.id);
    return { status: 200, body: { days: await store.usage.days(id) } };
  }),
  endpoint("GET /sources/:id/plan", async ({ params }, { store }) => {
    const { id } = await sources.find(store.config, params.id);
    return { status: 200, body: planView(await findPlan(store.config, id)) };
  }),
  endpoint("PUT /sources/:id/plan", async ({ params, body, ifMatch }, { store, clock }) => {
    const { id } = await sources.find(store.config, params.id);
    return {
      status: 200,
      body: planView(await setPlan(store.config, id, body, { ifMatch, nowMs: clock.now() })),
    };
  }),
  endpoint("DELETE /sources/:id/plan", async ({ params }, { store }) => {
    const { id } = await sources.find(store.config, params.id);
    await removePlan(store.config, id);
    return { status: 204 };
  }),
  endpoint("GET /event-names", async (_request, { store, events }) => {
    const all = await store.config.list(DOCUMENT_KINDS.source);
    return { status: 200, body: eventNames(all.flatMap(({ id }) => events.of(id).list())) };
  }),
  endpoint("GET /sources/:id/events", async ({ params, query }, context) => {
    const { id } = await sources.find(context.store.config, params.id);
    return { status: 200, body: await listEvents(id, query, context) };
  }),
  endpoint("POST /sources/:id/write-keys", async ({ params, token }, { store, clock, region }) => {
    const source = await sources.find(store.config, params.id);
    const changed = await addWriteKey(store.config, source, region, clock.now());
    return { status: 201, body: sourceView(changed, token, region) };
  }),
  endpoint("DELETE /sources/:id/write-keys/:key", async ({ params }, { store }) => {
    const source = await sources.find(store.config, params.id);
    await removeWriteKey(store.config, source, params.key);
    return { status: 204 };
  }),
];

/**
 * A source as the token may see it. A token with read access sees masked write keys, because a key allows sending. A source
 * keeps the region in which it was created, but shows it only if the collector has one (`region`).
 */
function sourceView(
  { id, version, value }: Versioned<SourceDocument>,
  { access }: Pick<KnownToken, "access">,
  region: Region | undefined,
): SourceView {
  return withoutUndefined({
    id,
    name: value.name,
    kind: value.kind,
    createdAt: value.createdAt,
    writeKeys: access === "full" ? value.writeKeys : value.writeKeys.map(maskedKey),
    blockedEvents: value.blockedEvents,
    rateLimit: value.rateLimit,
    identity: identityPolicyOf(value),
    region: region && value.region,
    transformationId: value.transformationId,
    version,
  });
}

/** The prefix and four characters, which is enough to tell keys apart. */
function maskedKey({ key, createdAt }: WriteKeyView): WriteKeyView {
  return { key: `${key.slice(0, key.lastIndexOf("_") + 5)}…`, createdAt, isMasked: true };
}

type StoredPlan = Versioned<SourcePlanDocument>;

function planView({ version, value }: StoredPlan): SourcePlanView {
  const { mode, plan, updatedAt } = value;
  return { mode, plan, updatedAt, version };
}

async function findPlan(config: ConfigStore, sourceId: string): Promise<StoredPlan> {
  const found = await config.get<SourcePlanDocument>(DOCUMENT_KINDS.sourcePlan, sourceId);
  if (found === undefined) throw noPlan();
  return found;
}

/** Checks the plan and stores it, so that every plan that is stored can be used. */
async function setPlan(
  config: ConfigStore,
  sourceId: string,
  { plan, mode }: SourcePlanInput,
  { ifMatch, nowMs }: { readonly ifMatch: number | undefined; readonly nowMs: number },
): Promise<StoredPlan> {
  checkPlan(plan);
  const present = await config.get<SourcePlanDocument>(DOCUMENT_KINDS.sourcePlan, sourceId);
  const version = present?.version ?? 0;
  if (ifMatch !== undefined && ifMatch !== version)
    throw new CollectorError("precondition_failed", `it is at version ${version}`, { details: { version } });
  const document: SourcePlanDocument = {
    mode: mode ?? present?.value.mode ?? "report",
    plan,
    updatedAt: formatTime(nowMs),
  };
  return config.put(DOCUMENT_KINDS.sourcePlan, sourceId, document, version);
}

async function removePlan(config: ConfigStore, sourceId: string): Promise<void> {
  if (!(await config.delete(DOCUMENT_KINDS.sourcePlan, sourceId))) throw noPlan();
}

function noPlan(): CollectorError {
  return new CollectorError("not_found", "the source has no tracking plan");
}

/** Throws `invalid_request` with every mistake that was found. */
function checkPlan(plan: SourcePlanInput["plan"]): void {
  const bytes = Buffer.byteLength(JSON.stringify(plan));
  if (bytes > PLAN_LIMITS.bytes)
    throw new CollectorError(
      "invalid_request",
      `plan: it has ${bytes} bytes; the most are ${PLAN_LIMITS.bytes}`,
    );
  const reading = readPlan(plan);
  if (reading.kind === "plan") return;
  const issues = reading.issues.map(({ path, message }) => ({ path: `plan${path}`, message }));
  const [first] = reading.issues;
  throw new CollectorError("invalid_request", `plan${first.path}: ${first.message}`, { details: { issues } });
}
