import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { COMPUTED_TRAIT, type ComputedTraitDocument } from "@sluice/audiences";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";
import { ComputedTraitSchema, computedTraitView } from "./computed-trait-schema.js";

export const listComputedTraits = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.list",
    method: "GET",
    path: "/computed-traits",
    summary: "Computed traits, oldest first",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of computed traits", schema: listOf(ComputedTraitSchema) },
    async handle({ query }, { store }) {
      const all = await store.config.list<ComputedTraitDocument>(COMPUTED_TRAIT);
      const page = pageOfDocuments(all, query, (computed) => computedTraitView(computed, audiences));
      return { status: 200, body: { ...page, items: await Promise.all(page.items) } };
    },
  });
