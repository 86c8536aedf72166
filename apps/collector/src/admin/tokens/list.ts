import { Type } from "@sinclair/typebox";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { pageOfDocuments } from "../page-documents.js";
import { TokenSchema } from "./token-schema.js";

export const listTokens = endpoint({
  name: "tokens.list",
  method: "GET",
  path: "/tokens",
  summary: "Admin tokens by name, never the tokens themselves",
  access: "read",
  query: Type.Object(listParameters, { additionalProperties: false }),
  answers: { status: 200, description: "A page of tokens", schema: listOf(TokenSchema) },
  handle({ query }, { tokens }) {
    return { status: 200, body: pageOfDocuments(tokens.list(), query, (token) => token) };
  },
});
