import { userIdentity } from "@sluice/event-log";
import type { Condition } from "@sluice/protocol";
import type {
  AudienceDocument,
  ComputedTraitDocument,
  Definition,
} from "../../src/definitions/definitions.js";

export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** A user as `forget` is told of it, without other ids. */
export function removal(userId: string) {
  const identity = userIdentity(userId);
  return { identity, identities: [identity] };
}

export function audience(
  id: string,
  condition: Condition,
  more: Partial<AudienceDocument> = {},
): Definition & { readonly kind: "audience" } {
  return {
    id,
    kind: "audience",
    document: {
      name: id,
      key: id,
      condition,
      destinationIds: ["dst"],
      sync: { initialDelayMs: 0, everyMs: 0 },
      trackEvents: false,
      enabled: true,
      paused: false,
      createdAt: new Date(EPOCH_MS).toISOString(),
      ...more,
    },
  };
}

export function computedTrait(
  id: string,
  kind: ComputedTraitDocument["kind"],
  more: Partial<ComputedTraitDocument> = {},
): Definition & { readonly kind: "computed_trait" } {
  return {
    id,
    kind: "computed_trait",
    document: {
      name: id,
      key: id,
      kind,
      event: "Order",
      ...(kind === "count" ? {} : { property: "price" }),
      destinationIds: ["dst"],
      enabled: true,
      createdAt: new Date(EPOCH_MS).toISOString(),
      ...more,
    },
  };
}
