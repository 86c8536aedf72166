import type { Clock } from "@sluice/resilience";
import { contained } from "../errors/contained.js";
import type { Transport } from "./transport.js";

/** How long an application's own transport may take to close. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Closes a transport. Resolves when it has closed, failed to, or taken too long. */
export async function closeTransport(transport: Transport, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.after(CLOSE_TIMEOUT_MS, resolve);
    const done = (): void => {
      cancel();
      resolve();
    };
    Promise.resolve(contained(() => transport.close?.())).then(done, done);
  });
}
