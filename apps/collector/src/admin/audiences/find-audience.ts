import { AUDIENCE, type AudienceDocument } from "../../audiences/definitions.js";
import { CollectorError } from "../../errors.js";
import type { ConfigStore, Versioned } from "../../store/store.js";

/** The audience of that id; throws `not_found`. */
export async function findAudience(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<AudienceDocument>> {
  const audience = await config.get<AudienceDocument>(AUDIENCE, id ?? "");
  if (audience === undefined) throw new CollectorError("not_found", `no audience has the id ${id}`);
  return audience;
}
