import type { Audiences } from "@sluice/audiences";
import { computedIssues } from "@sluice/audiences";
import { invalidDefinition } from "../audiences/accept-definition.js";
import { endpoint } from "../endpoint.js";
import { ComputedTraitDefinitionSchema, ComputedTraitPreviewSchema } from "./computed-trait-schema.js";

export const previewComputedTrait = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.preview",
    method: "POST",
    path: "/computed-traits/preview",
    summary:
      "What a computed trait would be, over all profiles and the stored history; nothing is changed or sent",
    access: "read",
    body: ComputedTraitDefinitionSchema,
    answers: {
      status: 200,
      description: "How many users would have a value, and the values of some",
      schema: ComputedTraitPreviewSchema,
    },
    async handle({ body, request }) {
      const issues = computedIssues(body);
      if (issues.length > 0) throw invalidDefinition(issues);
      return { status: 200, body: await audiences.previewTrait(body, request.signal) };
    },
  });
