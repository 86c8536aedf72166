import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters, pageRequest } from "../list-query.js";
import { UserValueSchema } from "./computed-trait-schema.js";

export const listValues = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.values",
    method: "GET",
    path: "/computed-traits/:id/values",
    summary:
      "Users who have a value now, those first whom the collector has known longest. Where they are rare a page may be short, or empty, and have a next one",
    access: "read",
    query: Type.Object(listParameters, { additionalProperties: false }),
    answers: {
      status: 200,
      description: "A page of users with their values",
      schema: listOf(UserValueSchema),
    },
    errors: ["not_found"],
    async handle({ params, query }) {
      const page = await audiences.values(params.id ?? "", pageRequest(query));
      if (page === undefined)
        throw new CollectorError("not_found", `no computed trait has the id ${params.id}`);
      return { status: 200, body: page };
    },
  });
