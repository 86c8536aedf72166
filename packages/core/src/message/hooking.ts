import type { Clock } from "@sluice/resilience";
import type { Settled } from "./accept.js";
import type { HeldMessage, Hooking } from "./batch.js";

/** Gives `done` a time limit: a message whose functions take longer is refused, so that nothing leaves as it was before them. */
export function hookingWithin(
  done: Promise<Settled>,
  messageId: string,
  timeoutMs: number,
  clock: Pick<Clock, "after">,
): Hooking {
  const limited = new Promise<Settled>((resolve) => {
    const text = `beforeSend took longer than ${timeoutMs} ms`;
    const cancel = clock.after(timeoutMs, () =>
      resolve({ kind: "refused", messageId, reason: "before_send_failed", text }),
    );
    void done.then((settled) => {
      cancel();
      resolve(settled);
    });
  });
  const hooking: Hooking = {
    done: limited.then((settled) => {
      hooking.settled = settled;
      return settled;
    }),
  };
  return hooking;
}

/** The message as its functions returned it; undefined if they have not, or if it is not to be sent. */
export function hooked(message: HeldMessage): HeldMessage | undefined {
  const { hooking, ...held } = message;
  if (hooking === undefined) return message;
  const { settled } = hooking;
  if (settled?.kind !== "ready") return undefined;
  return { ...held, heldBytes: message.bytes, json: settled.json, bytes: settled.bytes };
}
