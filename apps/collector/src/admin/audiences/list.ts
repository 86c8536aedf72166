import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { AUDIENCE, type AudienceDocument } from "@sluice/audiences";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";
import { AudienceSchema, audienceView } from "./audience-schema.js";

export const listAudiences = (audiences: Audiences) =>
  endpoint({
    name: "audiences.list",
    method: "GET",
    path: "/audiences",
    summary: "Audiences, oldest first",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of audiences", schema: listOf(AudienceSchema) },
    async handle({ query }, { store }) {
      const all = await store.config.list<AudienceDocument>(AUDIENCE);
      const page = pageOfDocuments(all, query, (audience) => audienceView(audience, audiences));
      return { status: 200, body: { ...page, items: await Promise.all(page.items) } };
    },
  });
