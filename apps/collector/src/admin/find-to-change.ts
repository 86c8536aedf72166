import type { ConfigStore, Versioned } from "@sluice/event-log";
import { checkVersion } from "./check-version.js";

/** What a request to change a document says beside the change. */
export interface ChangeRequest {
  readonly params: { readonly [name: string]: string | undefined };
  readonly body: { readonly version?: number | undefined };
  readonly ifMatch?: number | undefined;
}

/**
 * The document that a request is to change, at the version that it names. To be stored under that version: then of two changes made at
 * once to the same document one is refused, instead of taking the other back.
 */
export async function findToChange<Document>(
  find: (config: ConfigStore, id: string | undefined) => Promise<Versioned<Document>>,
  config: ConfigStore,
  { params, body, ifMatch }: ChangeRequest,
): Promise<Versioned<Document>> {
  const known = await find(config, params.id);
  checkVersion(known.version, { ifMatch, version: body.version });
  return known;
}
