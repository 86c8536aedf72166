import { Type } from "@sinclair/typebox";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { SourceDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";
import { SourceSchema, sourceView } from "./source-schema.js";

export const listSources = endpoint({
  name: "sources.list",
  method: "GET",
  path: "/sources",
  summary: "Sources, oldest first",
  access: "read",
  query: Type.Object(listParameters, { additionalProperties: false }),
  answers: { status: 200, description: "A page of sources", schema: listOf(SourceSchema) },
  async handle({ query, token }, { store, region }) {
    const sources = await store.config.list<SourceDocument>(DOCUMENT_KINDS.source);
    return {
      status: 200,
      body: pageOfDocuments(sources, query, (source) => sourceView(source, token, region)),
    };
  },
});
