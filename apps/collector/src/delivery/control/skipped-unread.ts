import type { Offset, Store } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";

/** How many messages after `passed` the destination will skip, because they came while it was disabled. */
export async function skippedUnread(
  { consumers }: Pick<Store, "consumers">,
  id: string,
  { disabledSpans }: Pick<DestinationDocument, "disabledSpans">,
  passed: Offset,
): Promise<number> {
  const after = async (offset: number): Promise<number> =>
    (await consumers.backlog(id, Math.max(offset, passed) as Offset)).behind;
  const unread = disabledSpans.filter(({ upTo }) => upTo === undefined || upTo > passed);
  const counts = await Promise.all(
    unread.map(
      async (span) => (await after(span.after)) - (span.upTo === undefined ? 0 : await after(span.upTo)),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
