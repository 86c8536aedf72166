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
      for (;;) {
        // From the beginning each time: what was overwritten is not found again.
        const { items } = await log.find(query, { limit: AT_ONCE });
        if (items.length === 0) break;
        const { attempts, retries } = await connection().ask("purgeMessages", {
          offsets: items.map((item) => item.offset),
          texts: personalTexts(items.map((item) => item.message)),
        });
        purged.messages += items.length;
        purged.attempts += attempts;
        purged.retries += retries;
      }
      if ("userId" in query) await connection().ask("purgeRejections", query);
      return purged;
    },
    async compact() {
      await connection().ask("compact", undefined);
    },
  };
}
