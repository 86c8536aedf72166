import type { BodyOf, DeletionView } from "@sluice/control-api";
import {
  anonymousIdentity,
  type Identity,
  type Store,
  userIdentity,
  type Versioned,
} from "@sluice/event-log";
import { deliveriesIn, offsetOf, withDeliveries } from "../../deletions/delete-messages.js";
import { type DeletionDocument, deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { retryDelivery } from "../../delivery/control/retry-delivery.js";
import type { Suppressions } from "../../documents/suppressions.js";
import { CollectorError } from "../../errors.js";
import type { AdminContext } from "../context.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskUrls } from "../masking.js";
import { pageOfDocuments } from "../paging.js";

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
      const created = await deletions.create(identities, options, store.config);
      const view = deletionView(created);
      const { aliases: _, ...kept } = view;
      return { status: 201, body: view, kept };
    }),
    endpoint("GET /deletions", async ({ query, token }, { store }) => {
      const all = [...(await deletions.list())].reverse();
      const page = pageOfDocuments(all, query);
      const items = await Promise.all(page.items.map((one) => viewNow(one, store)));
      return { status: 200, body: maskUrls(token, { ...page, items }) };
    }),
    endpoint("GET /deletions/:id", async ({ params, token }, { store }) => {
      const deletion = found(await deletions.get(params.id), params.id);
      return { status: 200, body: maskUrls(token, await viewNow(deletion, store)) };
    }),
    endpoint("POST /deletions/:id/retry", async ({ params: { id }, body }, context) => {
      const deletion = found(await deletions.get(id), id);
      await retryFailed(await viewNow(deletion, context.store), body.destinationId, context);
      deletions.wake(id);
      return { status: 202, body: await viewNow(deletion, context.store) };
    }),
    endpoint("POST /deletions/:id/give-up", async ({ params: { id } }, { store }) => {
      const { status } = await viewNow(found(await deletions.get(id), id), store);
      if (status !== "undelivered")
        throw new CollectorError(
          "conflict",
          `the deletion is ${status}: no delete message has failed for good`,
        );
      return { status: 202, body: await viewNow(found(await deletions.giveUp(id), id), store) };
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

/** The deletion with the deliveries of its delete messages as they are now. */
async function viewNow(deletion: Versioned<DeletionDocument>, store: Store): Promise<DeletionView> {
  const { value } = deletion;
  if (value.step !== "trace") return deletionView(deletion);
  const deleteMessages = await withDeliveries(value.receipt.deleteMessages, store);
  const view = deletionView({
    ...deletion,
    value: { ...value, receipt: { ...value.receipt, deleteMessages } },
  });
  if (value.status === "failed") return view;
  const isPending = deliveriesIn(deleteMessages, "pending").length > 0;
  const hasFailed = deliveriesIn(deleteMessages, "failed").length > 0;
  return { ...view, status: hasFailed && !isPending && value.givesUp !== true ? "undelivered" : "running" };
}

/** Sends the failed delete messages again, to one destination or to all. */
async function retryFailed(
  { status, receipt }: DeletionView,
  destinationId: string | undefined,
  context: AdminContext,
): Promise<void> {
  const { store, catalog, delivery: runtime } = context;
  const failed = deliveriesIn(receipt?.deleteMessages ?? [], "failed").filter(
    ({ delivery }) => destinationId === undefined || delivery.destinationId === destinationId,
  );
  if (failed.length === 0 || receipt?.tracesErasedAt !== undefined)
    throw new CollectorError("conflict", `the deletion is ${status}: no delete message waits for a retry`);
  const ids = [...new Set(failed.map(({ delivery }) => delivery.destinationId))];
  for (const id of ids) requireTarget(await destinations.find(store.config, id), catalog);
  for (const { message, delivery } of failed) {
    const offset = await offsetOf(message, store);
    if (offset === undefined || !(await retryDelivery(context, delivery.destinationId, offset)))
      throw new CollectorError("conflict", `the delete message ${message.messageId} is no longer stored`);
  }
  for (const id of ids) runtime.wake(id);
}

function found(deletion: Versioned<DeletionDocument> | undefined, id: string): Versioned<DeletionDocument> {
  if (deletion === undefined) throw notFound("deletion", id);
  return deletion;
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
