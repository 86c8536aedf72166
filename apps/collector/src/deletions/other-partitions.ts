import type { Versioned } from "@sluice/event-log";
import type { SourceDocument } from "../documents/documents.js";
import { type OneOfPartitions, partitionsOf } from "../documents/source-partitions.js";
import { type DeletionDocument, STEPS } from "./deletion.js";

/** What a partition has found of a deletion that runs in several. */
export type DeletionFindings =
  /** The deletion has not begun there. */
  | { readonly kind: "absent" }
  /** It has not looked for messages yet. */
  | { readonly kind: "searching" }
  /** The ids of the `delete` messages that it sends, unless a partition before it sends them. */
  | { readonly kind: "found"; readonly messageIds: readonly string[] };

/** The other partitions of the cluster in which a deletion runs. */
export interface OtherPartitions {
  readonly own: OneOfPartitions;
  /** Rejects if the partition has no owner that answers, or when `signal` aborts. */
  findings(partition: number, deletionId: string, signal?: AbortSignal): Promise<DeletionFindings>;
}

/** The id of a `delete` message. It differs per source, so that a receiver does not drop the second one as a duplicate. */
export function deleteMessageId(deletionId: string, user: number, place: number, sourceId: string): string {
  return `${deletionId}-${user}${place === 0 ? "" : `.${place}`}-${sourceId}`;
}

export function findingsOf(deletion: Versioned<DeletionDocument> | undefined): DeletionFindings {
  if (deletion === undefined) return { kind: "absent" };
  const { id, value } = deletion;
  const at = STEPS.indexOf(value.step);
  if (at <= STEPS.indexOf("collect")) return { kind: "searching" };
  const messageIds =
    at <= STEPS.indexOf("tell")
      ? (value.users ?? []).flatMap(({ sourceIds }, place) =>
          sourceIds.map((sourceId) => deleteMessageId(id, place, 0, sourceId)),
        )
      : value.receipt.deleteMessages.map(({ messageId }) => messageId);
  return { kind: "found", messageIds };
}

/** The partitions before this one that may have messages of a source, too. */
export function partitionsBefore(
  source: SourceDocument | undefined,
  { number, count }: OneOfPartitions,
): number[] {
  if (source === undefined) return [];
  return partitionsOf(source, count).filter((partition) => partition < number);
}
