import { AUDIENCE, COMPUTED_TRAIT } from "@sluice/audiences";
import { type ConfigStore, DOCUMENT_KINDS } from "@sluice/event-log";

/** The kinds of resources with a name. */
const NAMED_KINDS = [
  DOCUMENT_KINDS.source,
  DOCUMENT_KINDS.destination,
  AUDIENCE,
  COMPUTED_TRAIT,
  DOCUMENT_KINDS.transformation,
  DOCUMENT_KINDS.token,
];

/** The name of a resource now; undefined if there is none, or if it has no name. Ids of different kinds differ. */
export async function nameOf(
  config: Pick<ConfigStore, "get">,
  id: string | undefined,
): Promise<string | undefined> {
  if (id === undefined) return undefined;
  for (const kind of NAMED_KINDS) {
    const found = await config.get<{ readonly name?: unknown }>(kind, id);
    if (typeof found?.value.name === "string") return found.value.name;
  }
  return undefined;
}
