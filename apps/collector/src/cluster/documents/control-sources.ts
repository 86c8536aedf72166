import { hash } from "node:crypto";
import { DOCUMENT_KINDS, type Replica, type Versioned } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { SourceDocument } from "../../documents/documents.js";
import { isSpread, type SourcePartitions } from "../../documents/source-partitions.js";
import { defined } from "../../process/defined.js";

/** A source, and in which partitions its messages are. */
export interface SourcePlace extends SourcePartitions {
  readonly sourceId: string;
}

/** In which partition each source lives, as far as this process knows. */
export interface ControlSources {
  /** Whether a source is spread over several partitions. */
  readonly hasSpread: boolean;
  /** Undefined: no source is known to have the write key. */
  placeOf(writeKey: string): SourcePlace | undefined;
  placeOfSource(sourceId: string): SourcePlace | undefined;
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
  let byKey = new Map<string, SourcePlace>();
  let byId = new Map<string, SourcePlace>();
  let hasSpread = false;
  let readMs = Number.NEGATIVE_INFINITY;
  /** A source may have been made while this process was away. The next request finds it. */
  const known = (place: SourcePlace | undefined): SourcePlace | undefined => {
    if (place === undefined && clock.monotonic() - readMs > AGAIN_AFTER_MS) sources.refresh().catch(() => {});
    return place;
  };
  const sources: ControlSources = {
    get hasSpread() {
      return hasSpread;
    },
    placeOf: (writeKey) => known(byKey.get(hashOf(writeKey))),
    placeOfSource: (sourceId) => known(byId.get(sourceId)),
    async refresh() {
      readMs = clock.monotonic();
      const found = await control.documents<SourceDocument>(DOCUMENT_KINDS.source);
      byId = new Map(found.map((document) => [document.id, placeIn(document)]));
      byKey = new Map(
        found.flatMap((document) =>
          document.value.writeKeys.map(({ key }) => [hashOf(key), placeIn(document)] as const),
        ),
      );
      hasSpread = found.some(({ value }) => isSpread(value));
    },
  };
  return sources;
}

function placeIn({ id, value }: Versioned<SourceDocument>): SourcePlace {
  return { sourceId: id, ...defined({ partition: value.partition, partitions: value.partitions }) };
}

/** Keys are looked up by their hash, as ingestion does. */
function hashOf(writeKey: string): string {
  return hash("sha256", writeKey, "base64");
}
