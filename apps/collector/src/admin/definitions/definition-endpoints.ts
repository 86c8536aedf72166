import {
  AUDIENCE,
  type AudienceDocument,
  type Audiences,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
  computedIssues,
  conditionIssues,
  createAudience,
  createComputedTrait,
  patchAudience,
  patchComputedTrait,
  removeAudience,
  removeComputedTrait,
} from "@sluice/audiences";
import type { Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { pageRequest } from "../paging.js";
import { type Evaluated, managedDefinition } from "./managed-definition.js";

/** The endpoints of audiences, computed traits and profiles, for `adminRoutes`. */
export function definitionEndpoints(audiences: Audiences): Endpoint[] {
  return [
    ...audienceEndpoints(audiences),
    ...computedTraitEndpoints(audiences),
    endpoint("GET /profiles", async ({ query }) => ({
      status: 200,
      body: await audiences.search(query.q ?? "", pageRequest(query)),
    })),
    endpoint("GET /profiles/:userId", async ({ params }) => {
      const profile = await audiences.profile(params.userId);
      if (profile === undefined) throw new CollectorError("not_found", "this user has no profile");
      return { status: 200, body: profile };
    }),
    endpoint("GET /audience-engine", async () => ({ status: 200, body: await audiences.engine() })),
  ];
}

function audienceEndpoints(audiences: Audiences): Endpoint[] {
  const handlers = managedDefinition(
    {
      kind: AUDIENCE,
      noun: "audience",
      idPrefix: "aud",
      create: createAudience,
      patch: patchAudience,
      remove: removeAudience,
      view: ({ id, version, value }: Versioned<AudienceDocument>, evaluated) => {
        return { id, ...value, ...evaluated, version };
      },
      draftIssues: (store, { condition }) => conditionIssues(store, undefined, condition),
      preview: ({ condition }, signal) => audiences.preview(condition, signal),
      entries: audiences.members,
      why: audiences.why,
    },
    audiences,
  );
  return [
    endpoint("POST /audiences", handlers.create),
    endpoint("GET /audiences", handlers.list),
    endpoint("POST /audiences/preview", handlers.preview),
    endpoint("GET /audiences/:id", handlers.get),
    endpoint("PATCH /audiences/:id", handlers.patch),
    endpoint("DELETE /audiences/:id", handlers.delete),
    endpoint("GET /audiences/:id/members", handlers.entries),
    endpoint("GET /audiences/:id/why", handlers.why),
  ];
}

function computedTraitEndpoints(audiences: Audiences): Endpoint[] {
  const handlers = managedDefinition(
    {
      kind: COMPUTED_TRAIT,
      noun: "computed trait",
      idPrefix: "ctr",
      create: createComputedTrait,
      patch: patchComputedTrait,
      remove: removeComputedTrait,
      view: ({ id, version, value }: Versioned<ComputedTraitDocument>, { status }: Evaluated) => {
        return { id, ...value, status, version };
      },
      draftIssues: async (_store, draft) => computedIssues(draft),
      preview: audiences.previewTrait,
      entries: audiences.values,
      why: audiences.whyValue,
    },
    audiences,
  );
  return [
    endpoint("POST /computed-traits", handlers.create),
    endpoint("GET /computed-traits", handlers.list),
    endpoint("POST /computed-traits/preview", handlers.preview),
    endpoint("GET /computed-traits/:id", handlers.get),
    endpoint("PATCH /computed-traits/:id", handlers.patch),
    endpoint("DELETE /computed-traits/:id", handlers.delete),
    endpoint("GET /computed-traits/:id/values", handlers.entries),
    endpoint("GET /computed-traits/:id/why", handlers.why),
  ];
}
