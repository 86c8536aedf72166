import { DOCUMENT_KINDS } from "../../store/documents.js";
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
  async handle({ params }, { store }) {
    const { id } = await findSource(store.config, params.id);
    await store.config.delete(DOCUMENT_KINDS.source, id);
    return { status: 204 };
  },
});
