import { AUDIENCE, type AudienceDocument } from "@sluice/audiences";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** The audience of that id; throws `not_found`. */
export async function findAudience(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<AudienceDocument>> {
  const audience = await config.get<AudienceDocument>(AUDIENCE, id ?? "");
  if (audience === undefined) throw new CollectorError("not_found", `no audience has the id ${id}`);
  return audience;
}
