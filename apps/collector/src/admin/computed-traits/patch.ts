import { patchComputedTrait as patch } from "../../audiences/change-definitions.js";
import type { Audiences } from "../../audiences/start-audiences.js";
import { acceptDefinition } from "../audiences/accept-definition.js";
import { checkVersion } from "../check-version.js";
import { endpoint } from "../endpoint.js";
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
    errors: ["not_found", "conflict", "precondition_failed"],
    async handle({ params, body, ifMatch }, { store }) {
      const known = await findComputedTrait(store.config, params.id);
      checkVersion(known.version, { ifMatch, version: body.version });
      const computed = acceptDefinition(await patch(store, known.id, body));
      await audiences.takeUp();
      return { status: 200, body: await computedTraitView(computed, audiences) };
    },
  });
