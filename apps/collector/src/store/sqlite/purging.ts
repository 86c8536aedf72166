import type { Identity } from "../../messages/identity.js";
import { purgedIdentities, purgedMessages } from "../purged-messages.js";
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
  const purgeRejections = async (identities: readonly Identity[]): Promise<void> => {
    for (let from = 0; from < identities.length; from += IDS_AT_ONCE) {
      const some = identities.slice(from, from + IDS_AT_ONCE);
      // Each step shares a commit with whatever else has arrived.
      for (let after: number | undefined = 0; after !== undefined; )
        after = await connection().ask("purgeRejections", { identities: some, after });
    }
  };
  return {
    async purge(query) {
      const purged = { messages: 0, attempts: 0, retries: 0 };
      for (const wanted of purgedMessages(query)) {
        const { messages, attempts, retries } = await purgeMessages(wanted);
        purged.messages += messages;
        purged.attempts += attempts;
        purged.retries += retries;
      }
      await dropUnusedTexts();
      await purgeRejections(purgedIdentities(query));
      return purged;
    },
    async compact() {
      await connection().ask("compact", {});
    },
  };
}
