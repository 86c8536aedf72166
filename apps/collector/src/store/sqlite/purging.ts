import type { EventLog, MessageQuery, Purged, Purging } from "../store.js";
import type { Connection } from "./connection.js";

/** Messages that are overwritten in one commit. */
const AT_ONCE = 100;

/** Ids that are looked for in refused messages in one pass. */
const IDS_AT_ONCE = 1_000;

/** The main thread's side of purging: it finds the messages, the worker overwrites them. */
export function sqlitePurging(log: Pick<EventLog, "find">, connection: () => Connection): Purging {
  const purgeMessages = async (query: MessageQuery): Promise<Purged> => {
    const purged = { messages: 0, attempts: 0, retries: 0 };
    // Pass by pass, until one finds nothing: messages may have come in behind the pass before.
    for (let found = true; found; ) {
      found = false;
      let cursor: string | undefined;
      do {
        const page = await log.find(query, { limit: AT_ONCE, ...(cursor === undefined ? {} : { cursor }) });
        cursor = page.nextCursor;
        if (page.items.length === 0) break;
        found = true;
        const { attempts, retries } = await connection().ask("purgeMessages", {
          offsets: page.items.map((item) => item.offset),
        });
        purged.messages += page.items.length;
        purged.attempts += attempts;
        purged.retries += retries;
      } while (cursor !== undefined);
    }
    return purged;
  };
  const dropUnusedTexts = async (): Promise<void> => {
    for (let isDone = false; !isDone; ) ({ isDone } = await connection().ask("dropUnusedTexts", {}));
  };
  const purgeRejections = async (userIds: readonly string[]): Promise<void> => {
    for (let from = 0; from < userIds.length; from += IDS_AT_ONCE) {
      const some = userIds.slice(from, from + IDS_AT_ONCE);
      // Each step shares a commit with whatever else has arrived.
      for (let after: number | undefined = 0; after !== undefined; )
        after = await connection().ask("purgeRejections", { userIds: some, after });
    }
  };
  return {
    async purge(query) {
      if ("messageId" in query) {
        const purged = await purgeMessages(query);
        await dropUnusedTexts();
        return purged;
      }
      const userIds = "userId" in query ? [query.userId] : query.userIds;
      const purged = { messages: 0, attempts: 0, retries: 0 };
      for (const userId of userIds) {
        const { messages, attempts, retries } = await purgeMessages({ userId });
        purged.messages += messages;
        purged.attempts += attempts;
        purged.retries += retries;
      }
      await dropUnusedTexts();
      await purgeRejections(userIds);
      return purged;
    },
    async compact() {
      await connection().ask("compact", {});
    },
  };
}
