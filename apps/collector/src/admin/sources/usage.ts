import { endpoint } from "../endpoint.js";
import { findSource } from "./find-source.js";
import { UsageSchema } from "./source-schema.js";

export const sourceUsage = endpoint({
  name: "sources.usage",
  method: "GET",
  path: "/sources/:id/usage",
  summary: "Messages accepted, filtered and delivered, by day (UTC), newest first",
  access: "read",
  answers: { status: 200, description: "At most 90 days", schema: UsageSchema },
  errors: ["not_found"],
  async handle({ params }, { store }) {
    const { id } = await findSource(store.config, params.id);
    return { status: 200, body: { days: await store.usage.days(id) } };
  },
});
