import { type MessageFilter, matchesFilter, parseFilter } from "@sluice/protocol";
import type { ControlApi } from "../../api/control-api.js";
import { acceptedEntry, type LogEntry, rejectedEntry } from "./live-log.js";

/** Rows of the first page: about one screen. */
const FIRST_PAGE = 100;
/** Rows of each further page: the API's maximum. */
const PAGE = 500;

/** One list of the API, read page by page on demand. */
interface Feed {
  readonly rows: LogEntry[];
  cursor: string | undefined;
  isAtEnd: boolean;
  readonly read: (cursor: string | undefined) => Promise<{ rows: LogEntry[]; nextCursor?: string }>;
}

/** Stored messages, accepted and rejected, merged into one list, newest first. */
export interface History {
  /** The next rows. `isAtEnd`: there are no more. */
  next(): Promise<{ readonly rows: readonly LogEntry[]; readonly isAtEnd: boolean }>;
}

export function openHistory(api: Pick<ControlApi, "messages">, query: string): History {
  const parsed = parseFilter(query);
  const filter: MessageFilter = parsed.ok ? parsed.filter : { terms: [] };
  const accepted: Feed = newFeed(async (cursor) => {
    const page = await api.messages.list({ q: query || undefined, limit: sizeOf(cursor), cursor });
    return { ...page, rows: page.items.map(acceptedEntry) };
  });
  let place = 0;
  const rejected: Feed = newFeed(async (cursor) => {
    const page = await api.messages.rejected({ limit: sizeOf(cursor), cursor });
    const rows = page.items.map((item) => rejectedEntry(item, `history-${place++}`));
    return { ...page, rows: rows.filter((row) => matchesRejected(filter, row)) };
  });
  const wanted = wantedBy(filter);
  accepted.isAtEnd = !wanted.accepted;
  rejected.isAtEnd = !wanted.rejected;
  return {
    async next() {
      const rows: LogEntry[] = [];
      while (rows.length < FIRST_PAGE) {
        await Promise.all([fill(accepted), fill(rejected)]);
        // Merge while both lists have a row or have ended. Otherwise the next row is not known.
        while (isKnown(accepted) && isKnown(rejected)) {
          const row = newerOf(accepted, rejected)?.rows.shift();
          if (row === undefined) return { rows, isAtEnd: true };
          rows.push(row);
        }
      }
      return { rows, isAtEnd: false };
    },
  };
}

/** Which of the two lists can contain matches. The other one is not read. */
function wantedBy(filter: MessageFilter): { readonly accepted: boolean; readonly rejected: boolean } {
  const asked = filter.terms.flatMap((term) =>
    term.kind === "field" && term.field === "outcome" && !term.negated ? [term.value] : [],
  );
  const asksDestination = filter.terms.some(
    (term) => term.kind === "field" && term.field === "destination" && !term.negated,
  );
  return {
    accepted: asked.length === 0 || asked.some((state) => state !== "rejected"),
    rejected: !asksDestination && (asked.length === 0 || asked.includes("rejected")),
  };
}

/** Whether the next row, or the end, is known without another read. */
function isKnown(feed: Feed): boolean {
  return feed.rows.length > 0 || feed.isAtEnd;
}

function sizeOf(cursor: string | undefined): number {
  return cursor === undefined ? FIRST_PAGE : PAGE;
}

function newFeed(read: Feed["read"]): Feed {
  return { rows: [], cursor: undefined, isAtEnd: false, read };
}

/** Reads until there is a row or the list ends: a filter may leave pages empty. */
async function fill(feed: Feed): Promise<void> {
  while (feed.rows.length === 0 && !feed.isAtEnd) {
    const page = await feed.read(feed.cursor);
    feed.rows.push(...page.rows);
    feed.cursor = page.nextCursor;
    feed.isAtEnd = page.nextCursor === undefined;
  }
}

function newerOf(a: Feed, b: Feed): Feed | undefined {
  const [first, second] = [a.rows[0], b.rows[0]];
  if (first === undefined) return second === undefined ? undefined : b;
  if (second === undefined) return a;
  return first.receivedAt >= second.receivedAt ? a : b;
}

/** The collector filters accepted messages. Rejected ones are few and filtered here. */
function matchesRejected(filter: MessageFilter, entry: LogEntry): boolean {
  return matchesFilter(filter, {
    messageId: entry.messageId ?? "",
    sourceId: entry.sourceId,
    message: entry.message,
    outcomes: [{ destinationId: "", state: "rejected" }],
  });
}
