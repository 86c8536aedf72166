import { AUDIENCE, type AudienceDocument } from "@sluice/audiences";
import type { SizeHistory } from "../../audiences/size-history.js";
import { documentResource } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";

/** How many members an audience had over time. */
export function audienceSizesEndpoint(sizes: Pick<SizeHistory, "read">): Endpoint {
  const documents = documentResource<AudienceDocument>(AUDIENCE, "audience");
  return endpoint("GET /audiences/:id/sizes", async ({ params, query }, { store }) => {
    const { id } = await documents.find(store.config, params.id);
    return { status: 200, body: await sizes.read(id, query.span ?? "week") };
  });
}
