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
