import type { Audiences } from "@sluice/audiences";
import { endpoint } from "../endpoint.js";
import { ComputedTraitSchema, computedTraitView } from "./computed-trait-schema.js";
import { findComputedTrait } from "./find-computed-trait.js";

export const getComputedTrait = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.get",
    method: "GET",
    path: "/computed-traits/:id",
    summary: "One computed trait",
    access: "read",
    answers: { status: 200, description: "The computed trait", schema: ComputedTraitSchema },
    errors: ["not_found"],
    async handle({ params }, { store }) {
      const computed = await findComputedTrait(store.config, params.id);
      return { status: 200, body: await computedTraitView(computed, audiences) };
    },
  });
