import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { ValueWhySchema } from "./computed-trait-schema.js";
import { findComputedTrait } from "./find-computed-trait.js";

export const whyValue = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.why",
    method: "GET",
    path: "/computed-traits/:id/why",
    summary: "How a user's value came about: of how many events, in which window, of which messages",
    access: "read",
    query: Type.Object({ userId: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    answers: { status: 200, description: "The explanation", schema: ValueWhySchema },
    errors: ["not_found"],
    async handle({ params, query }, { store }) {
      const trait = await findComputedTrait(store.config, params.id);
      const why = await audiences.whyValue(trait.id, query.userId);
      if (why === undefined) throw new CollectorError("not_found", "there is no profile of this user");
      return { status: 200, body: why };
    },
  });
