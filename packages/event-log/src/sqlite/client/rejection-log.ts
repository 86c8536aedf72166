import type { RejectionLog } from "../../ports/rejections.js";
import { readPosition, writePosition } from "../../rules/page-cursor.js";
import type { StoreConnection } from "./connection.js";

/** How many refused messages may be on their way to the disk. They share commits with accepted messages, and cost more. */
const MOST_UNDER_WAY = 500;

/** The main thread's side of the refused messages. */
export function sqliteRejectionLog(connection: () => StoreConnection): RejectionLog {
  let underWay = 0;
  return {
    add(rejections) {
      const { length } = rejections;
      // Dropping the debugger's copy is fine: the sender got the error.
      if (length === 0 || (underWay > 0 && underWay + length > MOST_UNDER_WAY)) return;
      underWay += length;
      connection()
        .ask("reject", { rejections })
        .catch(() => {})
        .finally(() => {
          underWay -= length;
        });
    },
    async find(query, page) {
      const before = readPosition(page.cursor) ?? Number.POSITIVE_INFINITY;
      const found = await connection().ask("findRejections", { query, before, limit: page.limit + 1 });
      const given = found.slice(0, page.limit);
      const last = given.at(-1);
      const items = given.map(({ rejection }) => rejection);
      if (found.length <= given.length || last === undefined) return { items };
      return { items, nextCursor: writePosition(last.no) };
    },
  };
}
