import type { DeliveryGroupView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { attemptsOf } from "../messages/outcomes.js";
import { type BodySources, requestBodyOf } from "../messages/request-body.js";
import { pageOfDocuments } from "../paging/page-documents.js";
import { withoutUndefined } from "../without-undefined.js";
import { type DeliveryGroup, groupReader, groupView } from "./delivery-groups.js";
import { deliveryView } from "./delivery-view.js";

/** `GET /delivery-groups`. */
export function listGroups({ store, clock }: { readonly store: Store; readonly clock: Clock }): Endpoint {
  const read = groupReader(store, clock);
  return endpoint("GET /delivery-groups", async ({ query, token }, context) => {
    const { groups, isExact } = await read();
    const wanted = groups.filter(
      ({ destinationId }) => (query.destinationId ?? destinationId) === destinationId,
    );
    const page = pageOfDocuments(wanted, query);
    const items = await Promise.all(page.items.map((group) => withExample(context, group)));
    return { status: 200, body: { ...page, items: items.map((item) => maskFor(token, item)), isExact } };
  });
}

/** How much of a request body an example shows: a page has up to 500 groups. */
const EXAMPLE_BYTES = 4_096;

/** Reads one message for each group that is shown. */
async function withExample(sources: BodySources, group: DeliveryGroup): Promise<DeliveryGroupView> {
  const { store } = sources;
  const view = groupView(group);
  const [stored, outcomes] = await Promise.all([
    store.log.get(group.newest),
    store.consumers.outcomesOf(group.newest, group.destinationId),
  ]);
  const [delivery] = outcomes;
  if (stored === undefined || delivery === undefined) return view;
  const { attempts: _, ...shown } = deliveryView(delivery, stored);
  const attempts = await attemptsOf(store, group.destinationId, stored);
  const attempt = attempts.findLast(({ error }) => error !== undefined) ?? attempts.at(-1);
  if (attempt === undefined) return { ...view, example: shown };
  const requestBody = await requestBodyOf(sources, group.destinationId, stored, EXAMPLE_BYTES);
  return { ...view, example: withoutUndefined({ ...shown, attempt, requestBody }) };
}
