import type { EventLog, Identity, StoredMessage } from "@sluice/event-log";

const PAGE_SIZE = 200;

/** Reads all messages of these ids from the log. A message with a user id belongs to that user, regardless of its anonymous id. */
export async function* messagesOf(
  identities: readonly Identity[],
  log: Pick<EventLog, "find">,
): AsyncGenerator<StoredMessage> {
  for (const identity of identities) {
    let cursor: string | undefined;
    do {
      const page = await log.find(
        { identity },
        { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) },
      );
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}
