import { deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { endpoint } from "../endpoint.js";
import { DeletionInputSchema, DeletionSchema } from "./deletion-schema.js";

export const createDeletion = (deletions: Deletions) =>
  endpoint({
    name: "deletions.create",
    method: "POST",
    path: "/deletions",
    summary: "Remove users and tell the webhook destinations of the sources that they came from",
    access: "write",
    body: DeletionInputSchema,
    isBodyPersonal: true,
    answers: { status: 201, description: "The deletion; it goes on by itself", schema: DeletionSchema },
    async handle({ body }, { store }) {
      const deletion = await deletions.create(body.userIds, body.suppress ?? false, store.config);
      return { status: 201, body: deletionView(deletion) };
    },
  });
