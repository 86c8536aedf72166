import type { Clock } from "@sluice/resilience";
import type { Backups, RunningBackup } from "../../backups/start-backups.js";
import { CollectorError } from "../../errors.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { untilRevoked } from "../endpoint/until-revoked.js";

/** A client that takes nothing for this long is given up: until the backup ends, it takes disk space and no other can be made. */
const STALLED_AFTER_MS = 5 * 60 * 1_000;

export function backupEndpoint(backups: Backups): Endpoint {
  return endpoint("POST /backups", async ({ request, token }, { tokens, clock }) => {
    // Asked for first: it would not tell of a client that has gone before.
    const { signal: disconnected } = request;
    const backup = await backups.begin();
    endWith(backup, disconnected);
    return {
      status: 200,
      headers: { "content-type": "application/x-tar", "x-accel-buffering": "no" },
      async stream(write, requestSignal, drained) {
        const { signal, stop } = untilRevoked(requestSignal, tokens, token);
        const untilDrained = (): Promise<void> => untilRead(drained(), signal, clock);
        try {
          await send(backup.archive(), { write, signal, untilDrained });
        } catch (error) {
          // The client is gone, and has ended the backup.
          if (!signal.aborted) throw error;
        } finally {
          stop();
          await backup.end();
        }
      },
    };
  });
}

async function send(
  archive: AsyncIterable<Uint8Array>,
  {
    write,
    signal,
    untilDrained,
  }: {
    readonly write: (part: Uint8Array) => boolean;
    readonly signal: AbortSignal;
    readonly untilDrained: () => Promise<void>;
  },
): Promise<void> {
  for await (const part of archive) {
    if (signal.aborted) return;
    if (!write(part)) await untilDrained();
  }
}

/** The client may disconnect before the first byte is sent. */
function endWith(backup: RunningBackup, signal: AbortSignal): void {
  if (signal.aborted) void backup.end();
  else signal.addEventListener("abort", () => void backup.end(), { once: true });
}

/** Resolves when the client has caught up, or the signal aborts. Rejects if the client stalls. */
async function untilRead(drained: Promise<void>, signal: AbortSignal, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stalled = new CollectorError(
    "request_timeout",
    `the client has read nothing for ${STALLED_AFTER_MS / 60_000} minutes`,
  );
  const cancel = clock.after(STALLED_AFTER_MS, () => reject(stalled));
  const stop = (): void => resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    await Promise.race([drained, promise]);
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}
