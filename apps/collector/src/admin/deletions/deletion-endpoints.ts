import type { BodyOf } from "@sluice/control-api";
import { anonymousIdentity, type Identity, userIdentity } from "@sluice/event-log";
import { deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import type { Suppressions } from "../../documents/suppressions.js";
import { CollectorError } from "../../errors.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { pageOfDocuments } from "../paging/page-documents.js";

const MAX_IDS = 1_000;

/** The endpoints of deletions and suppressions, for `adminRoutes`. */
export function deletionEndpoints(deletions: Deletions, suppressions: Suppressions): Endpoint[] {
  return [
    endpoint("POST /deletions", async ({ body }, { store }) => {
      const identities = identitiesIn(body);
      const { suppress = false, includeAliases = false } = body;
      const options = { suppress, includeAliases };
      if (body.dryRun)
        return { status: 200, body: await deletions.plan(identities, options), isUnchanged: true };
      const view = deletionView(await deletions.create(identities, options, store.config));
      const { aliases: _, ...kept } = view;
      return { status: 201, body: view, kept };
    }),
    endpoint("GET /deletions", async ({ query }) => {
      const page = pageOfDocuments([...(await deletions.list())].reverse(), query);
      return { status: 200, body: { ...page, items: page.items.map(deletionView) } };
    }),
    endpoint("GET /deletions/:id", async ({ params }) => {
      const deletion = await deletions.get(params.id);
      if (deletion === undefined) throw notFound("deletion", params.id);
      return { status: 200, body: deletionView(deletion) };
    }),
    endpoint("GET /suppressions", ({ query }) => {
      const all = suppressions.list().map((one) => ({ id: one.idHmac, ...one }));
      const page = pageOfDocuments(all, query);
      return { status: 200, body: { ...page, items: page.items.map(({ id: _, ...view }) => view) } };
    }),
    endpoint("DELETE /suppressions/:userId", async ({ params: { userId: id }, query: { by = "userId" } }) => {
      const wanted =
        by === "idHmac" ? { idHmac: id } : by === "userId" ? userIdentity(id) : anonymousIdentity(id);
      if (!(await suppressions.lift(wanted)))
        throw new CollectorError("not_found", `no suppression is stored under this ${by}`);
      return { status: 204 };
    }),
  ];
}

function identitiesIn({ userIds = [], anonymousIds = [] }: BodyOf<"POST /deletions">): Identity[] {
  const identities = [...userIds.map(userIdentity), ...anonymousIds.map(anonymousIdentity)];
  if (identities.length === 0 || identities.length > MAX_IDS)
    throw new CollectorError(
      "invalid_request",
      `userIds and anonymousIds: 1 to ${MAX_IDS} ids are required, got ${identities.length}`,
    );
  return identities;
}
