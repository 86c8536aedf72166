import { Type } from "@sinclair/typebox";
import type { Suppressions } from "../../documents/suppressions.js";
import { SuppressionSchema } from "../deletions/deletion-schema.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";

export const listSuppressions = (suppressions: Suppressions) =>
  endpoint({
    name: "suppressions.list",
    method: "GET",
    path: "/suppressions",
    summary: "Ids whose messages are refused, each by its digest, oldest first",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of suppressed ids", schema: listOf(SuppressionSchema) },
    async handle({ query }) {
      const all = suppressions.list().map((one) => ({ id: one.idHmac, ...one }));
      return { status: 200, body: pageOfDocuments(all, query, ({ id: _, ...view }) => view) };
    },
  });
