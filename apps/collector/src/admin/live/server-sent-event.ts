import { BEFORE_FIRST, type Offset } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";

/** Where a stream stood: everything up to `offset` had been sent at `atMs`. */
export interface StreamPosition {
  readonly offset: Offset;
  readonly atMs: number;
}

/** An event as it goes over the wire; its id is the position after it. JSON has no line breaks of its own. */
export function serverSentEvent(kind: string, json: string, { offset, atMs }: StreamPosition): string {
  return `id: ${offset}/${formatTime(atMs)}\nevent: ${kind}\ndata: ${json}\n\n`;
}

/** A comment: keeps the connection from looking dead to what is between. */
export const HEARTBEAT = ":\n\n";

/** The position of a `Last-Event-ID`; undefined when it is none of ours. */
export function readPosition(id: string | undefined): StreamPosition | undefined {
  const match = /^(-1|\d{1,16})\/(\S{20,30})$/.exec(id ?? "");
  if (match === null) return undefined;
  const atMs = Date.parse(match[2] ?? "");
  if (Number.isNaN(atMs)) return undefined;
  return { offset: match[1] === "-1" ? BEFORE_FIRST : (Number(match[1]) as Offset), atMs };
}
