import { Type } from "@sinclair/typebox";
import type { Suppressions } from "../../store/suppressions.js";
import { SuppressionSchema } from "../deletions/deletion-schema.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";

export const listSuppressions = (suppressions: Suppressions) =>
  endpoint({
    name: "suppressions.list",
    method: "GET",
    path: "/suppressions",
    summary: "Users whose messages are refused, by the digest of their id",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of suppressed users", schema: listOf(SuppressionSchema) },
    async handle({ query }) {
      const all = suppressions.list().map((one) => ({ id: one.userIdSha256, ...one }));
      return { status: 200, body: pageOfDocuments(all, query, ({ id: _, ...view }) => view) };
    },
  });
