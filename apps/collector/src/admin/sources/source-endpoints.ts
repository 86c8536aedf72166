import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { SourceDocument } from "../../documents/documents.js";
import { documentResource } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { addWriteKey, createSource, deleteSource, patchSource, removeWriteKey } from "./change-source.js";
import { eventNames } from "./event-names.js";
import { listEvents } from "./list-events.js";
import { findPlan, planView, removePlan, setPlan } from "./source-plan.js";
import { sourceView } from "./source-view.js";

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
