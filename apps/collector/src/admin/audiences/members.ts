import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters, pageRequest } from "../list-query.js";
import { MemberSchema } from "./audience-schema.js";

export const listMembers = (audiences: Audiences) =>
  endpoint({
    name: "audiences.members",
    method: "GET",
    path: "/audiences/:id/members",
    summary: "Members now, those first whom the collector has known longest",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: { status: 200, description: "A page of members", schema: listOf(MemberSchema) },
    errors: ["not_found"],
    async handle({ params, query }) {
      const page = await audiences.members(params.id ?? "", pageRequest(query));
      if (page === undefined) throw new CollectorError("not_found", `no audience has the id ${params.id}`);
      return { status: 200, body: page };
    },
  });
