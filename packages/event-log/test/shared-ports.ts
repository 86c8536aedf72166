import type { MessagePort } from "node:worker_threads";
import type { SharePort } from "../src/ports/store.js";
import type { JoinedStore } from "../src/sqlite/sharing/join-store.js";
import { idsBatch } from "./batches.js";

/** A port whose messages about changes of documents arrive when `release` is called. */
export function holdingChanges(port: MessagePort) {
  const held: unknown[] = [];
  const listeners: ((message: unknown) => void)[] = [];
  let isHolding = true;
  const deliver = (message: unknown): void => {
    for (const listener of listeners) listener(message);
  };
  port.on("message", (message: { readonly kind: string }) => {
    if (isHolding && message.kind === "changed") held.push(message);
    else deliver(message);
  });
  const holding: SharePort = {
    postMessage: (message, transfer) => port.postMessage(message, transfer),
    on: (event, listener) => (event === "message" ? listeners.push(listener) : port.on(event, listener)),
    close: () => port.close(),
  };
  return {
    port: holding,
    release() {
      isHolding = false;
      held.splice(0).forEach(deliver);
    },
  };
}

/** Appends until something is handed back. */
export async function untilHandedBack({ log }: Pick<JoinedStore, "log">): Promise<void> {
  for (let i = 0; ; i++) if ((await log.append(idsBatch([`before-${i}`]))).isHandedBack) return;
}
