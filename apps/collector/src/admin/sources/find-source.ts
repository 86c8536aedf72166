import { CollectorError } from "../../errors.js";
import { DOCUMENT_KINDS, type SourceDocument } from "../../store/documents.js";
import type { ConfigStore, Versioned } from "../../store/store.js";

/** The source of that id; throws `not_found`. */
export async function findSource(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<SourceDocument>> {
  const source = await config.get<SourceDocument>(DOCUMENT_KINDS.source, id ?? "");
  if (source === undefined) throw new CollectorError("not_found", `no source has the id ${id}`);
  return source;
}

/** Throws `invalid_request` that names the first id that is no source's. */
export async function checkSourcesExist(config: ConfigStore, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    if ((await config.get(DOCUMENT_KINDS.source, id)) === undefined)
      throw new CollectorError("invalid_request", `sourceIds: no source has the id ${id}`);
}
