import type { Identity } from "../message/identity.js";
import type { Rejection, RejectionLog } from "../ports/rejections.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";
import { ofUsers } from "../rules/purging.js";

export interface MemoryRejectionLog extends RejectionLog {
  /** Deletes the refused messages of these users. */
  purge(identities: readonly Identity[], requested: readonly Identity[]): void;
  clear(): void;
}

export function memoryRejectionLog(kept: number): MemoryRejectionLog {
  const rejections: { readonly number: number; readonly rejection: Rejection }[] = [];
  let next = 0;
  return {
    purge(identities, requested) {
      const isOfThem = ofUsers(identities, requested);
      const others = rejections.filter(({ rejection }) => !isOfThem(rejection));
      rejections.splice(0, rejections.length, ...others);
    },
    clear() {
      rejections.length = 0;
    },
    add(added) {
      for (const rejection of added) {
        rejections.push({ number: next, rejection });
        next += 1;
      }
      rejections.splice(0, Math.max(0, rejections.length - kept));
    },
    async find(query, page) {
      const position = readPosition(page.cursor) ?? Number.POSITIVE_INFINITY;
      const found = rejections
        .filter(
          ({ number, rejection }) =>
            number < position &&
            (query.messageId === undefined || rejection.messageId === query.messageId) &&
            (query.sourceId === undefined || rejection.sourceId === query.sourceId) &&
            (query.fromMs === undefined || rejection.receivedAtMs >= query.fromMs) &&
            (query.toMs === undefined || rejection.receivedAtMs < query.toMs),
        )
        .reverse();
      const given = found.slice(0, page.limit);
      const last = given.at(-1);
      const items = given.map(({ rejection }) => rejection);
      if (found.length <= given.length || last === undefined) return { items };
      return { items, nextCursor: writePosition(last.number) };
    },
  };
}
