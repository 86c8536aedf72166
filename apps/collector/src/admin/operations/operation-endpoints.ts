import type { OperationInput } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Offset } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import type { NewOperation, Operations } from "../../operations/start-operations.js";
import type { KnownToken } from "../../tokens/tokens.js";
import type { AdminContext } from "../context.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { parseDeliveryId } from "../messages/outcomes.js";
import { pageOfDocuments, timeSpan } from "../paging.js";

/** The endpoints of bulk operations, for `adminRoutes`. */
export function operationEndpoints(operations: Operations): Endpoint[] {
  return [
    endpoint("POST /operations", async ({ body, token }, context) => {
      const wanted = wantedBy(body);
      await requireTargets(body, wanted, context);
      if (body.dryRun) {
        const total = await operations.count({ kind: body.kind, wanted });
        return { status: 200, body: { total }, isUnchanged: true };
      }
      const { kind, perSecond } = body;
      const view = await operations.create(
        { kind, wanted, createdBy: by(token), ...(perSecond === undefined ? {} : { perSecond }) },
        context.store.config,
      );
      const { userId: _, ...filter } = view.filter ?? {};
      const kept = view.filter === undefined ? view : { ...view, filter };
      return { status: 202, body: view, kept };
    }),
    endpoint("GET /operations", async ({ query }) => {
      return { status: 200, body: pageOfDocuments(await operations.list(), query) };
    }),
    endpoint("GET /operations/:id", async ({ params }) => {
      const view = await operations.get(params.id);
      if (view === undefined) throw notFound("operation", params.id);
      return { status: 200, body: view };
    }),
    endpoint("POST /operations/:id/cancel", async ({ params }) => {
      const view = await operations.cancel(params.id);
      if (view === undefined) throw notFound("operation", params.id);
      return { status: 200, body: view };
    }),
    endpoint("POST /replays", async ({ body: { filter, dryRun = false }, token }, context) => {
      const { destinationId } = filter;
      requireTarget(await destinations.find(context.store.config, destinationId), context.catalog);
      const wanted = { filter, ...timeSpan(filter) };
      if (dryRun) {
        const count = await operations.count({ kind: "replay", wanted });
        return { status: 200, body: { count }, isUnchanged: true };
      }
      const { id } = await operations.create(
        { kind: "replay", wanted, createdBy: by(token) },
        context.store.config,
      );
      const count = (await operations.selected(id))?.total ?? 0;
      context.delivery.wake(destinationId);
      return { status: 201, body: { id, count }, target: destinationId };
    }),
  ];
}

function by({ id, name }: KnownToken): NewOperation["createdBy"] {
  return { tokenId: id, tokenName: name };
}

function wantedBy({ filter, ids }: OperationInput): NewOperation["wanted"] {
  if ((filter === undefined) === (ids === undefined))
    throw new CollectorError("invalid_request", "give either `filter` or `ids`");
  if (filter !== undefined) return { filter, ...timeSpan(filter) };
  const chosen = new Map<string, Offset[]>();
  for (const id of new Set(ids)) {
    const { destinationId, offset } = parseDeliveryId(id);
    chosen.set(destinationId, [...(chosen.get(destinationId) ?? []), offset]);
  }
  return { chosen };
}

/** Named destinations must exist, and have a URL to send to. Wakes each, so that one that is down is probed. */
async function requireTargets(
  { kind, dryRun }: OperationInput,
  wanted: NewOperation["wanted"],
  { store, catalog, delivery }: AdminContext,
): Promise<void> {
  const named = "chosen" in wanted ? [...wanted.chosen.keys()] : [wanted.filter.destinationId];
  for (const id of named) {
    if (id === undefined) continue;
    const found = await destinations.find(store.config, id);
    if (kind === "discard") continue;
    requireTarget(found, catalog);
    if (!dryRun) delivery.wake(id);
  }
  if (kind === "discard" || dryRun || named[0] !== undefined) return;
  for (const { id } of await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))
    delivery.wake(id);
}
