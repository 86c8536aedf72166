import { personalTexts } from "../../messages/personal-texts.js";
import type { EventLog, Purging } from "../store.js";
import type { Connection } from "./connection.js";

/** Messages that are overwritten in one commit. */
const AT_ONCE = 100;

/** The main thread's side of purging: it finds the messages, the worker overwrites them. */
export function sqlitePurging(log: Pick<EventLog, "find">, connection: () => Connection): Purging {
  return {
    async purge(query) {
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
            texts: personalTexts(page.items.map((item) => item.message)),
          });
          purged.messages += page.items.length;
          purged.attempts += attempts;
          purged.retries += retries;
        } while (cursor !== undefined);
      }
      if ("userId" in query) await connection().ask("purgeRejections", query);
      return purged;
    },
    async compact() {
      await connection().ask("compact", {});
    },
  };
}
