import { readPosition, writePosition } from "../page-cursor.js";
import type { RejectionLog } from "../store.js";
import type { Connection } from "./connection.js";

/** The main thread's side of the refused messages. */
export function sqliteRejectionLog(connection: () => Connection): RejectionLog {
  return {
    add(rejections) {
      if (rejections.length === 0) return;
      connection()
        .ask("reject", { rejections })
        // The debugger's copy of a refused message may be missing: its sender was told.
        .catch(() => {});
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
