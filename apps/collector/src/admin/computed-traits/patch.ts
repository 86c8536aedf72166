import type { Audiences } from "@sluice/audiences";
import { patchComputedTrait as patch } from "@sluice/audiences";
import { acceptDefinition } from "../audiences/accept-definition.js";
import { endpoint } from "../endpoint.js";
import { findToChange } from "../find-to-change.js";
import { ComputedTraitPatchSchema, ComputedTraitSchema, computedTraitView } from "./computed-trait-schema.js";
import { findComputedTrait } from "./find-computed-trait.js";

export const patchComputedTrait = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.patch",
    method: "PATCH",
    path: "/computed-traits/:id",
    summary: "Change a computed trait: values that differ by it are sent. Its key stays",
    access: "write",
    body: ComputedTraitPatchSchema,
    answers: { status: 200, description: "The computed trait as it is now", schema: ComputedTraitSchema },
    errors: ["not_found", "conflict", "precondition_failed", "not_in_force"],
    async handle(request, { store }) {
      const known = await findToChange(findComputedTrait, store.config, request);
      const computed = acceptDefinition(await patch(store, known, request.body));
      audiences.requireInForce(computed.id, computed.version);
      return { status: 200, body: await computedTraitView(computed, audiences) };
    },
  });
