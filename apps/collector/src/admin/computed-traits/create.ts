import type { Audiences } from "@sluice/audiences";
import { createComputedTrait as create } from "@sluice/audiences";
import { newId } from "../../documents/new-id.js";
import { acceptDefinition } from "../audiences/accept-definition.js";
import { endpoint } from "../endpoint.js";
import { ComputedTraitInputSchema, ComputedTraitSchema, computedTraitView } from "./computed-trait-schema.js";

export const createComputedTrait = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.create",
    method: "POST",
    path: "/computed-traits",
    summary: "Make a computed trait; its destinations are told of the values that there are, then of changes",
    access: "write",
    body: ComputedTraitInputSchema,
    answers: { status: 201, description: "The computed trait", schema: ComputedTraitSchema },
    errors: ["conflict", "not_in_force"],
    async handle({ body }, { store, clock }) {
      const computed = acceptDefinition(await create({ store, clock, id: newId("ctr") }, body));
      audiences.requireInForce(computed.id, computed.version);
      return { status: 201, body: await computedTraitView(computed, audiences) };
    },
  });
