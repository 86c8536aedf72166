import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { WhySchema } from "./audience-schema.js";
import { findAudience } from "./find-audience.js";

export const whyInAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.why",
    method: "GET",
    path: "/audiences/:id/why",
    summary: "Why a user is in or out, node by node, with what was seen",
    access: "read",
    query: Type.Object({ userId: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    answers: { status: 200, description: "The explanation", schema: WhySchema },
    errors: ["not_found"],
    async handle({ params, query }, { store }) {
      const audience = await findAudience(store.config, params.id);
      const why = await audiences.why(audience.id, query.userId);
      if (why === undefined) throw new CollectorError("not_found", "there is no profile of this user");
      return { status: 200, body: why };
    },
  });
