import { BEFORE_FIRST, type Offset } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";

/** A position in a stream: everything up to `offset` had been sent at `atMs`. */
export interface StreamPosition {
  readonly offset: Offset;
  readonly atMs: number;
}

/** An event in wire format. Its id is the position after it. Serialized JSON has no line breaks. */
export function serverSentEvent(kind: string, json: string, position: StreamPosition): string {
  return `${positionLine(position)}event: ${kind}\ndata: ${json}\n\n`;
}

/** From here on, a reader can resume. */
function positionLine({ offset, atMs }: StreamPosition): string {
  return `id: ${offset}/${formatTime(atMs)}\n`;
}

/** A comment, so that proxies do not close an idle connection. */
export const HEARTBEAT = ":\n\n";

/** Parses a `Last-Event-ID`; undefined if it is not a position. */
export function readPosition(id: string | undefined): StreamPosition | undefined {
  const match = /^(-1|\d{1,15})\/(\S{20,30})$/.exec(id ?? "");
  if (match === null) return undefined;
  const atMs = Date.parse(match[2] ?? "");
  if (Number.isNaN(atMs)) return undefined;
  return { offset: match[1] === "-1" ? BEFORE_FIRST : (Number(match[1]) as Offset), atMs };
}
