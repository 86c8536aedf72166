import type { LiveEventView } from "@sluice/control-api";
import { AdminUnreachable } from "./admin-error.js";
import { type AdminClientOptions, send } from "./request.js";

/** One event of the live stream. */
export interface LiveItem {
  /** Pass it as `lastEventId` to resume after this event. Absent if the stream sent none. */
  readonly id?: string;
  readonly event: LiveEventView;
}

export interface LiveOptions {
  /** A filter of the debugger. Default: everything. */
  readonly q?: string;
  /** Resumes after this event. Default: starts now. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
  /** Called when the stream is open: it carries every message stored from now on. */
  readonly onOpen?: () => void;
}

/** Yields events until the stream ends or `signal` aborts. Does not reconnect. */
export async function* liveStream(
  options: AdminClientOptions,
  { q, lastEventId, signal, onOpen }: LiveOptions = {},
): AsyncGenerator<LiveItem> {
  const response = await send(options, "GET", "/live", {
    query: { q },
    headers: {
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.body === null) throw new AdminUnreachable(options.url, "the live stream has no body");
  onOpen?.();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const item = readEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (item !== undefined) yield item;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Parses one server-sent event; undefined if it carries no data, such as a comment that keeps the connection open. */
function readEvent(block: string): LiveItem | undefined {
  let id: string | undefined;
  let data: string | undefined;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "id") id = value;
    if (field === "data") data = data === undefined ? value : `${data}\n${value}`;
  }
  if (data === undefined) return undefined;
  return { ...(id === undefined ? {} : { id }), event: JSON.parse(data) as LiveEventView };
}
