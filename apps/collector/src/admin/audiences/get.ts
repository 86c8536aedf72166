import type { Audiences } from "@sluice/audiences";
import { endpoint } from "../endpoint.js";
import { AudienceSchema, audienceView } from "./audience-schema.js";
import { findAudience } from "./find-audience.js";

export const getAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.get",
    method: "GET",
    path: "/audiences/:id",
    summary: "One audience, its size and how far its sync is",
    access: "read",
    answers: { status: 200, description: "The audience", schema: AudienceSchema },
    errors: ["not_found"],
    async handle({ params }, { store }) {
      const audience = await findAudience(store.config, params.id);
      return { status: 200, body: await audienceView(audience, audiences) };
    },
  });
