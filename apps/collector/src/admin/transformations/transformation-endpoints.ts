import {
  DEFAULT_LIMIT,
  type ListAnswer,
  type TransformationPatch,
  type TransformationVersionView,
  type TransformationView,
} from "@sluice/control-api";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import type { TransformationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import type { AdminContext } from "../context.js";
import { withoutUndefined } from "../document-resource.js";
import { type Endpoint, type EndpointRequest, endpoint } from "../endpoint/endpoint.js";
import {
  attachedTo,
  type ChangeDeps,
  createTransformation,
  deleteTransformation,
  findVersion,
  patchTransformation,
  transformations,
} from "./change-transformation.js";
import { type TrialEndpointsOptions, trialEndpoints } from "./trial-endpoints.js";

/** The endpoints of transformations, for `adminRoutes`. */
export function transformationEndpoints(options: TrialEndpointsOptions): Endpoint[] {
  const deps = (
    { store, clock }: Pick<AdminContext, "store" | "clock">,
    { token }: Pick<EndpointRequest<unknown, unknown, unknown>, "token">,
  ): ChangeDeps => ({ ...options, config: store.config, nowMs: clock.now(), by: token.name });
  return [
    ...trialEndpoints(options),
    endpoint("POST /transformations", async (request, context) => {
      const created = await createTransformation(request.body, deps(context, request));
      const body = await transformationView(context.store.config, created);
      return { status: 201, body, change: changeOf(request.body, 0, created) };
    }),
    endpoint("GET /transformations", async ({ query }, { store }) => {
      const body = await transformations.list(store.config, query, (one) =>
        transformationView(store.config, one),
      );
      return { status: 200, body };
    }),
    endpoint("GET /transformations/:id", async ({ params }, { store }) => {
      const found = await transformations.find(store.config, params.id);
      return { status: 200, body: await transformationView(store.config, found) };
    }),
    endpoint("PATCH /transformations/:id", async (request, context) => {
      const before = await transformations.findToChange(context.store.config, request);
      const changed = await patchTransformation(before, request.body, deps(context, request));
      const body = await transformationView(context.store.config, changed);
      return { status: 200, body, change: changeOf(request.body, before.value.newest, changed) };
    }),
    endpoint("DELETE /transformations/:id", async ({ params }, { store }) => {
      const found = await transformations.find(store.config, params.id);
      await deleteTransformation(store.config, found);
      return { status: 204 };
    }),
    endpoint("GET /transformations/:id/versions", async ({ params, query }, { store }) => {
      const found = await transformations.find(store.config, params.id);
      return { status: 200, body: await listVersions(store.config, found, query) };
    }),
  ];
}

/** A change as the audit log keeps it: the number of the version that was saved instead of its code. */
function changeOf(
  { code: _, ...rest }: TransformationPatch,
  newestBefore: number,
  { value: { newest } }: Versioned<TransformationDocument>,
): object {
  return newest === newestBefore ? rest : { ...rest, saved: `version ${newest}` };
}

async function transformationView(
  config: ConfigStore,
  { id, version, value }: Versioned<TransformationDocument>,
): Promise<TransformationView> {
  const { name, current, newest, createdAt, changedAt } = value;
  const { code, language } = await findVersion(config, id, current);
  const { destinations, sources } = await attachedTo(config, id);
  return {
    id,
    name,
    code,
    language,
    current,
    newest,
    secretNames: Object.keys(value.secrets).sort(),
    destinationIds: destinations.map((one) => one.id),
    sourceIds: sources.map((one) => one.id),
    createdAt,
    changedAt,
    version,
  };
}

/** A page of versions, newest first. The cursor is the number of the last one. */
async function listVersions(
  config: ConfigStore,
  { id, value: { current, newest } }: Versioned<TransformationDocument>,
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<ListAnswer<TransformationVersionView>> {
  const after = cursor === undefined ? newest + 1 : Number(cursor);
  if (!Number.isInteger(after) || after < 1 || after > newest + 1)
    throw new CollectorError("invalid_request", "`cursor` is not one that this list answered");
  const count = Math.min(limit, after - 1);
  const numbers = Array.from({ length: count }, (_, index) => after - 1 - index);
  const items = await Promise.all(
    numbers.map(async (number) => {
      const { code, language, createdAt, createdBy } = await findVersion(config, id, number);
      return withoutUndefined({
        number,
        code,
        language,
        createdAt,
        createdBy,
        isCurrent: number === current,
      });
    }),
  );
  const last = after - count;
  return { items, ...(last > 1 ? { nextCursor: String(last) } : {}) };
}
