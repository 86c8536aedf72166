import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { conditionIssues } from "@sluice/audiences";
import type { Condition } from "@sluice/protocol";
import { endpoint } from "../endpoint.js";
import { invalidDefinition } from "./accept-definition.js";
import { ConditionSchema, PreviewSchema } from "./audience-schema.js";

export const previewAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.preview",
    method: "POST",
    path: "/audiences/preview",
    summary:
      "Who would be in an audience, over all profiles and the stored history; nothing is changed or sent",
    access: "read",
    body: Type.Object({ condition: ConditionSchema }, { additionalProperties: false }),
    answers: { status: 200, description: "How many, and some of them", schema: PreviewSchema },
    async handle({ body, request }, { store }) {
      const issues = await conditionIssues(store, undefined, body.condition);
      if (issues.length > 0) throw invalidDefinition(issues);
      return { status: 200, body: await audiences.preview(body.condition as Condition, request.signal) };
    },
  });
