import { hash } from "node:crypto";
import { DOCUMENT_KINDS, type Replica } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { SourceDocument } from "../../documents/documents.js";

/** In which partition each source lives, as far as this process knows. */
export interface ControlSources {
  /** The partition of the source with this write key. Undefined: no source is known to have it. */
  ofWriteKey(writeKey: string): number | undefined;
  ofSource(sourceId: string): number | undefined;
  /** Reads the sources again. */
  refresh(): Promise<void>;
}

/** Sources without a number are those of the control partition. */
export function partitionOf({ partition = 0 }: Pick<SourceDocument, "partition">): number {
  return partition;
}

/** How often unknown keys make it read the sources again. */
const AGAIN_AFTER_MS = 1_000;

/** Reads the sources from this process's copy of the control partition. */
export function controlSources(control: Pick<Replica, "documents">, clock: Clock): ControlSources {
  let byKey = new Map<string, number>();
  let byId = new Map<string, number>();
  let readMs = Number.NEGATIVE_INFINITY;
  /** A source may have been made while this process was away. The next request finds it. */
  const known = (partition: number | undefined): number | undefined => {
    if (partition === undefined && clock.monotonic() - readMs > AGAIN_AFTER_MS)
      sources.refresh().catch(() => {});
    return partition;
  };
  const sources: ControlSources = {
    ofWriteKey: (writeKey) => known(byKey.get(hashOf(writeKey))),
    ofSource: (sourceId) => known(byId.get(sourceId)),
    async refresh() {
      readMs = clock.monotonic();
      const found = await control.documents<SourceDocument>(DOCUMENT_KINDS.source);
      byId = new Map(found.map(({ id, value }) => [id, partitionOf(value)]));
      byKey = new Map(
        found.flatMap(({ value }) =>
          value.writeKeys.map(({ key }) => [hashOf(key), partitionOf(value)] as const),
        ),
      );
    },
  };
  return sources;
}

/** Keys are looked up by their hash, as ingestion does. */
function hashOf(writeKey: string): string {
  return hash("sha256", writeKey, "base64");
}
