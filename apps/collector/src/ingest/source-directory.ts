import { hash } from "node:crypto";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import type { SourceDocument } from "../documents/documents.js";
import { gracePeriods } from "./grace-periods.js";

/** What ingestion has to know of a source. */
export interface Source {
  readonly id: string;
  readonly kind: SourceDocument["kind"];
  readonly region?: NonNullable<SourceDocument["region"]>;
  /** Messages a second; absent: no limit of its own. */
  readonly rateLimit?: number;
}

/** The sources by their write keys, as they are now. */
export interface SourceDirectory {
  /**
   * The source that a write key belongs to. Keys are looked up by their hash, so that the time it takes says nothing
   * about how much of a guessed key was right.
   */
  find(writeKey: string): Source | undefined;
  /** Changes with each change of a source: what was found holds for as long as this stays. */
  readonly version: number;
  /**
   * To be called in the same turn as the look-up on which messages are acknowledged; returns the function that says that they are.
   * A change of a source is answered when everything that began before the change has ended.
   */
  begin(): () => void;
  /** Ends the watching. */
  close(): void;
}

export async function openSourceDirectory(config: ConfigStore): Promise<SourceDirectory> {
  const hashesOf = new Map<string, readonly string[]>();
  const byHash = new Map<string, Source>();
  const acknowledging = gracePeriods();
  let version = 0;

  const forget = (id: string): void => {
    for (const keyHash of hashesOf.get(id) ?? []) if (byHash.get(keyHash)?.id === id) byHash.delete(keyHash);
    hashesOf.delete(id);
  };
  const take = ({ id, value }: Versioned<SourceDocument>): void => {
    const source: Source = {
      id,
      kind: value.kind,
      ...(value.region === undefined ? {} : { region: value.region }),
      ...(value.rateLimit === undefined ? {} : { rateLimit: value.rateLimit }),
    };
    const hashes = value.writeKeys.map(({ key }) => hashOf(key));
    hashesOf.set(id, hashes);
    for (const keyHash of hashes) byHash.set(keyHash, source);
  };
  const mirror = await mirrorDocuments<SourceDocument>(config, DOCUMENT_KINDS.source, (id, document) => {
    forget(id);
    if (document !== undefined) take(document);
    version++;
    return acknowledging.end();
  });
  return {
    find: (writeKey) => byHash.get(hashOf(writeKey)),
    get version() {
      return version;
    },
    begin: () => acknowledging.begin(),
    close: () => mirror.close(),
  };
}

function hashOf(writeKey: string): string {
  return hash("sha256", writeKey, "base64");
}
