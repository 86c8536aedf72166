import type { Socket } from "node:net";
import { KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/** Bytes that are read and dropped after the last answer, at most. */
const MOST_DROPPED_BYTES = 16 * KB * KB;

const lingering = new WeakSet<object>();

/**
 * Closes our side of a connection and drops what the client still sends, until it closes its own side. A socket that is closed while
 * bytes wait to be read resets the connection, and a client that has not read its answer yet loses it. When `timeoutMs` or 16 MB have
 * passed, the connection is cut.
 */
export function linger(socket: Socket, clock: Pick<Clock, "after">, timeoutMs: number): void {
  if (socket.destroyed || lingering.has(socket)) return;
  lingering.add(socket);
  if (socket.readableEnded) {
    socket.end(() => socket.destroy());
    return;
  }
  const cut = (): void => {
    socket.destroy();
  };
  const cancel = clock.after(timeoutMs, cut);
  socket.once("close", cancel);
  socket.once("end", () => {
    if (socket.writableFinished) cut();
    else socket.once("finish", cut);
  });
  let droppedBytes = 0;
  // The HTTP parser listens here. What comes now is not for it.
  socket.removeAllListeners("data");
  socket.on("data", (chunk) => {
    droppedBytes += chunk.length;
    if (droppedBytes > MOST_DROPPED_BYTES) cut();
  });
  socket.resume();
  socket.end();
}

/** Whether nothing but the end of this connection is awaited. */
export function isLingering(socket: object): boolean {
  return lingering.has(socket);
}
