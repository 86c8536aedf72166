import type { LiveEventView } from "@sluice/protocol";
import { AdminUnreachable } from "./admin-error.js";
import { type AdminClientOptions, send } from "./request.js";

/** One event of the live stream, with the id from which a later stream goes on. */
export interface LiveItem {
  /** Hand it back as `lastEventId`. Absent where the stream gave none. */
  readonly id?: string;
  readonly event: LiveEventView;
}

export interface LiveOptions {
  /** A filter of the debugger's grammar. Default: everything. */
  readonly q?: string;
  /** Goes on after this event. Default: from now. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
  /** Called when the stream is open: what is stored from now on comes through it. */
  readonly onOpen?: () => void;
}

/** The live stream until it ends or `signal` aborts; does not connect again by itself. */
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

/** One block of server-sent events; undefined for one that carries no data (a comment that keeps the line open). */
export function readEvent(block: string): LiveItem | undefined {
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
