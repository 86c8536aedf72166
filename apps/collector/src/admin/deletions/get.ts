import { deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { DeletionSchema } from "./deletion-schema.js";

export const getDeletion = (deletions: Deletions) =>
  endpoint({
    name: "deletions.get",
    method: "GET",
    path: "/deletions/:id",
    summary: "How far a deletion is, and its receipt",
    access: "read",
    answers: { status: 200, description: "The deletion", schema: DeletionSchema },
    errors: ["not_found"],
    async handle({ params }) {
      const deletion = await deletions.get(params.id ?? "");
      if (deletion === undefined)
        throw new CollectorError("not_found", `no deletion has the id ${params.id}`);
      return { status: 200, body: deletionView(deletion) };
    },
  });
