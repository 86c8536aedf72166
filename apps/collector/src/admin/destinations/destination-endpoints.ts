import {
  type CatalogEntryView,
  type DestinationView,
  NOTIFY_AFTER,
  type RetryScheduleView,
  type TestSendView,
} from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime, RETRY_WINDOW, retrySchedule } from "@sluice/protocol";
import {
  type ChangeResult,
  changeDestination,
  connectedSources,
  createDestination,
  removeDestination,
} from "../../delivery/control/connections.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationType } from "../../destinations/destination.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { documentResource, notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor, maskUrls } from "../masking.js";
import { attemptView } from "../messages/outcomes.js";
import { destinationStatus } from "./destination-status.js";

/** A destination without its secrets. Its type decides what is secret, so no settings are shown if the type is gone. */
function destinationView(
  { id, version, value }: Versioned<DestinationDocument>,
  catalog: Catalog,
): DestinationView {
  const { retryForMs = RETRY_WINDOW.defaultMs, notifyAfterMs = NOTIFY_AFTER.defaultMs } = value;
  return {
    id,
    type: value.type,
    name: value.name,
    enabled: value.enabled,
    createdAt: value.createdAt,
    sourceIds: connectedSources(value),
    filters: value.filters,
    settings: catalog.get(value.type)?.describe(value.settings) ?? {},
    retryForMs,
    retrySchedule: retryScheduleView(retryForMs),
    notifyAfterMs,
    ...(value.transformationId === undefined ? {} : { transformationId: value.transformationId }),
    version,
  };
}

/** Attempts to list. A window of 7 days has hundreds, which are all an hour apart. */
const LISTED_ATTEMPTS = 12;

function retryScheduleView(retryForMs: number): RetryScheduleView {
  const { attemptsAtMs, ...rest } = retrySchedule(retryForMs);
  return { attempts: attemptsAtMs.length, attemptsAtMs: attemptsAtMs.slice(0, LISTED_ATTEMPTS), ...rest };
}

function catalogEntryView(type: DestinationType): CatalogEntryView {
  return {
    type: type.type,
    name: type.name,
    mode: type.mode,
    sources: type.sources,
    historical: type.historical.accepted,
    ...(type.description === undefined ? {} : { description: type.description }),
    ...(type.icon === undefined ? {} : { icon: type.icon }),
    settingsSchema: type.settingsSchema,
  };
}

/** Document kind: the outcome of the last test message, by destination. */
const KIND = "last_test";

async function keepLastTest(
  config: Pick<ConfigStore, "put">,
  destinationId: string,
  sent: TestSendView,
): Promise<void> {
  await config.put<TestSendView>(KIND, destinationId, sent);
}

async function lastTest(
  config: Pick<ConfigStore, "get">,
  destinationId: string,
): Promise<TestSendView | undefined> {
  return (await config.get<TestSendView>(KIND, destinationId))?.value;
}

async function forgetLastTest(config: Pick<ConfigStore, "delete">, destinationId: string): Promise<void> {
  await config.delete(KIND, destinationId);
}

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
