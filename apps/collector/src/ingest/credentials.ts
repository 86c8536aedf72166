import type { Source, SourceDirectory } from "./source-directory.js";

/** Who sent a request, as its `Authorization` header says. */
export interface Credentials {
  readonly writeKey: string;
  readonly source: Source;
}

/** Headers that are remembered, at most. A key has many spellings; clients have one each. */
const MOST_REMEMBERED = 1_000;
/** Longer ones are nobody's ordinary spelling: all that are remembered take half a megabyte at most. */
const LONGEST_REMEMBERED = 512;

/**
 * Headers that were found good, so that the next request with the same one is not decoded and hashed anew. Only good ones are
 * kept: a map compares by a hash first, seeded for each process, so that a guess learns nothing of how near it came.
 */
export function rememberedCredentials(sources: Pick<SourceDirectory, "version">): {
  find(header: string | undefined): Credentials | undefined;
  /** To be called in the same turn as the look-up in the sources. */
  put(header: string, credentials: Credentials): void;
} {
  const byHeader = new Map<string, Credentials>();
  let rememberedVersion = -1;
  return {
    find(header) {
      if (header === undefined || rememberedVersion !== sources.version) return undefined;
      return byHeader.get(header);
    },
    put(header, credentials) {
      const { version } = sources;
      if (header.length > LONGEST_REMEMBERED) return;
      if (version !== rememberedVersion || byHeader.size >= MOST_REMEMBERED) byHeader.clear();
      rememberedVersion = version;
      byHeader.set(header, credentials);
    },
  };
}
