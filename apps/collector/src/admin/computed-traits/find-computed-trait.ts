import { COMPUTED_TRAIT, type ComputedTraitDocument } from "@sluice/audiences";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** The computed trait of that id; throws `not_found`. */
export async function findComputedTrait(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<ComputedTraitDocument>> {
  const computed = await config.get<ComputedTraitDocument>(COMPUTED_TRAIT, id ?? "");
  if (computed === undefined) throw new CollectorError("not_found", `no computed trait has the id ${id}`);
  return computed;
}
