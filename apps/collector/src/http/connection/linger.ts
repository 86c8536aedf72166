import type { Socket } from "node:net";
import { KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/** How much is read and dropped after the last response. */
const MAX_DROPPED_BYTES = 16 * KB * KB;

const lingering = Symbol("lingering");
interface MaybeLingering {
  [lingering]?: boolean;
}

/**
 * Closes our side of a connection, and drops what the client still sends until it closes its side. Closing the socket while bytes wait
 * to be read would reset the connection, and the client would lose a response that it has not read yet. Cuts the connection after
 * `timeoutMs` or 16 MB.
 */
export function linger(
  socket: Socket & MaybeLingering,
  clock: Pick<Clock, "after">,
  timeoutMs: number,
): void {
  if (socket.destroyed || socket[lingering]) return;
  socket[lingering] = true;
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
  // Detach the HTTP parser: what arrives now is not for it.
  socket.removeAllListeners("data");
  socket.on("data", (chunk) => {
    droppedBytes += chunk.length;
    if (droppedBytes > MAX_DROPPED_BYTES) cut();
  });
  socket.resume();
  socket.end();
}

/** Whether `linger` was called for this connection. */
export function isLingering(socket: Socket & MaybeLingering): boolean {
  return socket[lingering] === true;
}
