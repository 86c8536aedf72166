import { endpoint } from "../endpoint.js";
import { findSource } from "./find-source.js";
import { SourceSchema, sourceView } from "./source-schema.js";

export const getSource = endpoint({
  name: "sources.get",
  method: "GET",
  path: "/sources/:id",
  summary: "One source",
  access: "read",
  answers: { status: 200, description: "The source", schema: SourceSchema },
  errors: ["not_found"],
  async handle({ params, token }, { store, region }) {
    return { status: 200, body: sourceView(await findSource(store.config, params.id), token, region) };
  },
});
