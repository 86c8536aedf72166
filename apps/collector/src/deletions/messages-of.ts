import type { EventLog, Identity, StoredMessage } from "@sluice/event-log";

const FOUND_AT_ONCE = 200;

/** The messages of these ids in the log. One that names a user id is that user's, whatever its anonymous id is. */
export async function* messagesOf(
  identities: readonly Identity[],
  log: Pick<EventLog, "find">,
): AsyncGenerator<StoredMessage> {
  for (const identity of identities) {
    let cursor: string | undefined;
    do {
      const page = await log.find(
        { identity },
        { limit: FOUND_AT_ONCE, ...(cursor === undefined ? {} : { cursor }) },
      );
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}
