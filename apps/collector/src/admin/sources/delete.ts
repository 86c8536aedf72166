import { DOCUMENT_KINDS } from "@sluice/event-log";
import { changeDestination, connectedSources } from "../../delivery/control/connections.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint.js";
import { findSource } from "./find-source.js";

export const deleteSource = endpoint({
  name: "sources.delete",
  method: "DELETE",
  path: "/sources/:id",
  summary: "Delete a source: its write keys are refused from now on, what it sent stays",
  access: "write",
  answers: { status: 204, description: "It is gone" },
  errors: ["not_found"],
  async handle({ params }, { store, catalog, clock }) {
    const { id } = await findSource(store.config, params.id);
    await store.config.delete(DOCUMENT_KINDS.source, id);
    // What it sent before still goes where it was to go: a connection ends here, it is not undone.
    for (const destination of await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination)) {
      const sourceIds = connectedSources(destination.value);
      if (!sourceIds.includes(id)) continue;
      const rest = sourceIds.filter((sourceId) => sourceId !== id);
      await changeDestination({ store, catalog, clock }, destination.id, { sourceIds: rest });
    }
    return { status: 204 };
  },
});
