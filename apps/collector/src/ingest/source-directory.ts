import { hash } from "node:crypto";
import { DOCUMENT_KINDS, type SourceDocument } from "../store/documents.js";
import type { ConfigStore, Versioned } from "../store/store.js";

/** What ingestion has to know of a source. */
export interface Source {
  readonly id: string;
  readonly region?: NonNullable<SourceDocument["region"]>;
  /** Messages a second; absent: no limit of its own. */
  readonly rateLimit?: number;
}

/** The sources by their write keys, kept up to date with the configuration. */
export interface SourceDirectory {
  /**
   * The source that a write key belongs to. Keys are looked up by their hash, so that the time it takes says nothing
   * about how much of a guessed key was right. Answers a promise only while a change of the configuration is being read.
   */
  find(writeKey: string): Source | undefined | Promise<Source | undefined>;
  /** Changes with each change of the configuration: what was found holds for as long as this stays. */
  readonly version: number;
  /** Ends the watching. */
  close(): void;
}

export async function openSourceDirectory(config: ConfigStore): Promise<SourceDirectory> {
  const sources = new Map<string, { readonly source: Source; readonly hashes: readonly string[] }>();
  const byHash = new Map<string, Source>();
  let refreshing: Promise<void> | undefined;
  let isStale = true;
  let version = 0;

  const forget = (id: string): void => {
    for (const keyHash of sources.get(id)?.hashes ?? []) byHash.delete(keyHash);
    sources.delete(id);
  };
  const take = ({ id, value }: Versioned<SourceDocument>): void => {
    const source: Source = {
      id,
      ...(value.region === undefined ? {} : { region: value.region }),
      ...(value.rateLimit === undefined ? {} : { rateLimit: value.rateLimit }),
    };
    const hashes = value.writeKeys.map(({ key }) => hashOf(key));
    sources.set(id, { source, hashes });
    for (const keyHash of hashes) byHash.set(keyHash, source);
  };
  /** Reads all again: sources are few, and one path is easier to trust than two. Changes while it reads make it read once more. */
  const refresh = (): Promise<void> => {
    isStale = true;
    version++;
    refreshing ??= (async () => {
      try {
        while (isStale) {
          isStale = false;
          const documents = await config.list<SourceDocument>(DOCUMENT_KINDS.source);
          for (const id of [...sources.keys()]) forget(id);
          for (const document of documents) take(document);
        }
      } catch (error) {
        isStale = true;
        throw error;
      } finally {
        refreshing = undefined;
      }
    })();
    return refreshing;
  };

  const stopWatching = config.watch(({ kind }) => {
    // A failed read is made up for by the next look-up.
    if (kind === DOCUMENT_KINDS.source) refresh().catch(() => {});
  });
  await refresh();
  return {
    find(writeKey) {
      const keyHash = hashOf(writeKey);
      if (!isStale && refreshing === undefined) return byHash.get(keyHash);
      // Not begun anew for each request: under load there would be one in every reading, and none would be the last.
      return (refreshing ?? refresh()).then(() => byHash.get(keyHash));
    },
    get version() {
      return version;
    },
    close: stopWatching,
  };
}

function hashOf(writeKey: string): string {
  return hash("sha256", writeKey, "base64");
}
