import { DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import {
  type ChangeResult,
  changeDestination,
  createDestination,
  removeDestination,
} from "../../delivery/control/connections.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { documentResource, notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { maskUrls } from "../masking/mask-urls.js";
import { attemptView } from "../messages/outcomes.js";
import { destinationStatus } from "./destination-status.js";
import { catalogEntryView, destinationView } from "./destination-view.js";
import { forgetLastTest, keepLastTest, lastTest } from "./last-test.js";

export const destinations = documentResource<DestinationDocument>(DOCUMENT_KINDS.destination, "destination");

export const destinationEndpoints: readonly Endpoint[] = [
  endpoint("GET /catalog", (_request, { catalog }) => {
    return { status: 200, body: { items: catalog.types.map(catalogEntryView), unusable: catalog.unusable } };
  }),
  endpoint("POST /destinations", async ({ body }, context) => {
    const destination = accept(await createDestination(context, body));
    return { status: 201, body: destinationView(destination, context.catalog) };
  }),
  endpoint("GET /destinations", async ({ query, token }, { store, catalog }) => {
    const body = await destinations.list(store.config, query, (destination) =>
      maskFor(token, destinationView(destination, catalog)),
    );
    return { status: 200, body };
  }),
  endpoint("GET /destinations/:id", async ({ params, token }, { store, catalog }) => {
    const destination = await destinations.find(store.config, params.id);
    return { status: 200, body: maskFor(token, destinationView(destination, catalog)) };
  }),
  endpoint("PATCH /destinations/:id", async (request, context) => {
    const { id } = await destinations.findToChange(context.store.config, request);
    const version = request.ifMatch ?? request.body.version;
    const change = { ...request.body, ...(version === undefined ? {} : { version }) };
    const destination = accept(await changeDestination(context, id, change));
    return { status: 200, body: destinationView(destination, context.catalog) };
  }),
  endpoint("DELETE /destinations/:id", async ({ params }, { store }) => {
    await forgetLastTest(store.config, params.id);
    if (!(await removeDestination(store, params.id))) throw notFound("destination", params.id);
    return { status: 204 };
  }),
  endpoint("POST /destinations/:id/test", async ({ params }, { delivery, store, clock }) => {
    const sent = await delivery.test(params.id);
    if (sent === undefined) throw notFound("destination", params.id);
    const attempts = sent.attempts.map((attempt) => attemptView(attempt, sent.messageId));
    const requestBody = { text: sent.requestBody, bytes: Buffer.byteLength(sent.requestBody) };
    const body = { ...sent, at: formatTime(clock.now()), requestBody, attempts };
    await keepLastTest(store.config, params.id, body);
    return { status: 200, body };
  }),
  endpoint("GET /destinations/:id/test", async ({ params, token }, { store }) => {
    await destinations.find(store.config, params.id);
    const last = await lastTest(store.config, params.id);
    return { status: 200, body: maskFor(token, last === undefined ? {} : { last }) };
  }),
  endpoint("GET /destinations/:id/status", async ({ params, token }, context) => {
    const destination = await destinations.find(context.store.config, params.id);
    return { status: 200, body: maskUrls(token, await destinationStatus(destination, context)) };
  }),
];

/** The changed destination. Throws if the change was not accepted. */
function accept(result: ChangeResult): Versioned<DestinationDocument> {
  switch (result.kind) {
    case "changed":
      return result.destination;
    case "not_found":
      throw new CollectorError("not_found", "no destination has this id");
    case "invalid": {
      const [first] = result.issues;
      throw new CollectorError("invalid_request", first && `${first.path}: ${first.message}`, {
        details: { issues: result.issues },
      });
    }
    default:
      return result satisfies never;
  }
}
