import type { Audiences } from "@sluice/audiences";
import { createAudience as create } from "@sluice/audiences";
import type { AudienceInput } from "@sluice/protocol";
import { newId } from "../../documents/new-id.js";
import { endpoint } from "../endpoint.js";
import { acceptDefinition } from "./accept-definition.js";
import { AudienceInputSchema, AudienceSchema, audienceView } from "./audience-schema.js";

export const createAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.create",
    method: "POST",
    path: "/audiences",
    summary: "Make an audience; its destinations are told of everybody who is in it already, then of changes",
    access: "write",
    body: AudienceInputSchema,
    answers: { status: 201, description: "The audience", schema: AudienceSchema },
    errors: ["conflict", "not_in_force"],
    async handle({ body }, { store, clock }) {
      const audience = acceptDefinition(
        await create({ store, clock, id: newId("aud") }, body as AudienceInput),
      );
      audiences.requireInForce(audience.id, audience.version);
      return { status: 201, body: await audienceView(audience, audiences) };
    },
  });
