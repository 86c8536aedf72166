import type { Audiences } from "@sluice/audiences";
import { patchAudience as patch } from "@sluice/audiences";
import type { AudiencePatch } from "@sluice/protocol";
import { endpoint } from "../endpoint.js";
import { findToChange } from "../find-to-change.js";
import { acceptDefinition } from "./accept-definition.js";
import { AudiencePatchSchema, AudienceSchema, audienceView } from "./audience-schema.js";
import { findAudience } from "./find-audience.js";

export const patchAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.patch",
    method: "PATCH",
    path: "/audiences/:id",
    summary: "Change an audience: only what differs by it is sent. Its key stays",
    access: "write",
    body: AudiencePatchSchema,
    answers: { status: 200, description: "The audience as it is now", schema: AudienceSchema },
    errors: ["not_found", "conflict", "precondition_failed", "not_in_force"],
    async handle(request, { store }) {
      const known = await findToChange(findAudience, store.config, request);
      const audience = acceptDefinition(await patch(store, known, request.body as AudiencePatch));
      audiences.requireInForce(audience.id, audience.version);
      return { status: 200, body: await audienceView(audience, audiences) };
    },
  });
