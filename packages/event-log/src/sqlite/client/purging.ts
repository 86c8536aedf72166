import type { StoredMessage } from "../../message/batch.js";
import type { Offset } from "../../message/offset.js";
import type { EventLog, MessageQuery } from "../../ports/event-log.js";
import type { Page } from "../../ports/page.js";
import type { Purged, PurgeQuery, Purging } from "../../ports/purging.js";
import { writePosition } from "../../rules/page-cursor.js";
import { purgedIdentities, purgedMessages, requestedIdentities } from "../../rules/purging.js";
import type { RejectionsLeft } from "../calls/operations.js";
import type { StoreConnection } from "./connection.js";

/** Messages overwritten in one commit. */
const AT_ONCE = 100;

/** Ids searched for in refused messages in one pass. */
const IDS_AT_ONCE = 1_000;

/** The main thread's side of purging: it finds the messages, the worker overwrites them. */
export function sqlitePurging(
  log: Pick<EventLog, "find" | "head">,
  connection: () => StoreConnection,
): Purging {
  const purgeMessages = async (query: MessageQuery, upTo: Offset, signal?: AbortSignal): Promise<Purged> => {
    const purged = { messages: 0, attempts: 0, retries: 0 };
    // Newest first and bounded by `upTo`, so that new messages do not prolong it.
    let cursor: string | undefined = writePosition(upTo + 1);
    while (cursor !== undefined) {
      signal?.throwIfAborted();
      const page: Page<StoredMessage> = await log.find(query, { limit: AT_ONCE, cursor });
      cursor = page.nextCursor;
      if (page.items.length === 0) continue;
      const { attempts, retries } = await connection().ask("purgeMessages", {
        offsets: page.items.map((item) => item.offset),
      });
      purged.messages += page.items.length;
      purged.attempts += attempts;
      purged.retries += retries;
    }
    return purged;
  };
  const purgeRejections = async (query: PurgeQuery, signal?: AbortSignal): Promise<void> => {
    const identities = purgedIdentities(query);
    const all = new Set(requestedIdentities(query));
    for (let from = 0; from < identities.length; from += IDS_AT_ONCE) {
      const some = identities.slice(from, from + IDS_AT_ONCE);
      const requested = some.filter((identity) => all.has(identity));
      // Each step shares a commit with whatever else has arrived.
      let left: RejectionsLeft | undefined = { after: 0 };
      while (left !== undefined) {
        signal?.throwIfAborted();
        left = await connection().ask("purgeRejections", { identities: some, requested, ...left });
      }
    }
  };
  return {
    async purge(query, signal) {
      const upTo = log.head();
      const purged = { messages: 0, attempts: 0, retries: 0 };
      for (const wanted of purgedMessages(query)) {
        const { messages, attempts, retries } = await purgeMessages(wanted, upTo, signal);
        purged.messages += messages;
        purged.attempts += attempts;
        purged.retries += retries;
      }
      await purgeRejections(query, signal);
      return purged;
    },
    async compact() {
      await connection().ask("compact", {});
    },
  };
}
