import { Type } from "@sinclair/typebox";
import { endpoint } from "../endpoint.js";
import { AccessSchema, CreatedTokenSchema } from "./token-schema.js";

export const createToken = endpoint({
  name: "tokens.create",
  method: "POST",
  path: "/tokens",
  summary: "Make an admin token; `read` ones may change nothing",
  access: "write",
  body: Type.Object(
    { name: Type.String({ minLength: 1, maxLength: 200 }), access: Type.Optional(AccessSchema) },
    { additionalProperties: false },
  ),
  answers: { status: 201, description: "The token, shown this once", schema: CreatedTokenSchema },
  isAnswerSecret: true,
  async handle({ body }, { store, tokens }) {
    const { view, token } = await tokens.create(body.name, body.access ?? "full", store.config);
    return { status: 201, body: { ...view, token } };
  },
});
