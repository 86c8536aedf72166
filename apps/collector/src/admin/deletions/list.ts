import { Type } from "@sinclair/typebox";
import { deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";
import { DeletionSchema } from "./deletion-schema.js";

export const listDeletions = (deletions: Deletions) =>
  endpoint({
    name: "deletions.list",
    method: "GET",
    path: "/deletions",
    summary: "Deletions, newest first",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of deletions", schema: listOf(DeletionSchema) },
    async handle({ query }) {
      const newestFirst = [...(await deletions.list())].reverse();
      return { status: 200, body: pageOfDocuments(newestFirst, query, deletionView) };
    },
  });
