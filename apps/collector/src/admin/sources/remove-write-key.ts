import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { SourceDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { findSource } from "./find-source.js";

export const removeWriteKey = endpoint({
  name: "sources.removeWriteKey",
  method: "DELETE",
  path: "/sources/:id/write-keys/:key",
  summary: "Delete a write key: it is refused from now on",
  access: "write",
  answers: { status: 204, description: "It is gone" },
  errors: ["not_found"],
  async handle({ params }, { store }) {
    const source = await findSource(store.config, params.id);
    const writeKeys = source.value.writeKeys.filter(({ key }) => key !== params.key);
    if (writeKeys.length === source.value.writeKeys.length)
      throw new CollectorError("not_found", "the source has no such write key");
    const changed: SourceDocument = { ...source.value, writeKeys };
    await store.config.put(DOCUMENT_KINDS.source, source.id, changed, source.version);
    return { status: 204 };
  },
});
