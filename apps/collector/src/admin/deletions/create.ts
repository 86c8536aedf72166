import { anonymousIdentity, type Identity, userIdentity } from "@sluice/event-log";
import { deletionView } from "../../deletions/deletion.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { DeletionInputSchema, DeletionPlanSchema, DeletionSchema } from "./deletion-schema.js";

const MOST_IDS = 1_000;

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
    unchangedAnswer: {
      status: 200,
      description: "With `dryRun`: what would be removed; nothing is",
      schema: DeletionPlanSchema,
    },
    async handle({ body }, { store }) {
      const { userIds = [], anonymousIds = [], suppress = false, includeAliases = false } = body;
      const identities: Identity[] = [...userIds.map(userIdentity), ...anonymousIds.map(anonymousIdentity)];
      if (identities.length === 0 || identities.length > MOST_IDS)
        throw new CollectorError(
          "invalid_request",
          `userIds and anonymousIds: 1 to ${MOST_IDS} ids are needed, got ${identities.length}`,
        );
      const options = { suppress, includeAliases };
      if (body.dryRun)
        return { status: 200, body: await deletions.plan(identities, options), isUnchanged: true };
      const view = deletionView(await deletions.create(identities, options, store.config));
      const { aliases: _, ...kept } = view;
      return { status: 201, body: view, kept };
    },
  });
