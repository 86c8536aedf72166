import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { SourceDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";

/** The source of that id; throws `not_found`. */
export async function findSource(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<SourceDocument>> {
  const source = await config.get<SourceDocument>(DOCUMENT_KINDS.source, id ?? "");
  if (source === undefined) throw new CollectorError("not_found", `no source has the id ${id}`);
  return source;
}
