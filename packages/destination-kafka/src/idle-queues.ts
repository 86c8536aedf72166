import { createRequire } from "node:module";

// In a file of its own, which imports nothing: the tests' server runs it as it stands.
let isPatched = false;

/**
 * kafkajs 2.2.4 asks every millisecond whether a request waits, on each connection, for as long as it is open
 * (https://github.com/tulios/kafkajs/issues/1704), and Node.js warns of the negative time. Asking is needed only while one waits.
 */
export function checkQueuesOnlyIfNeeded(): void {
  if (isPatched) return;
  isPatched = true;
  const { prototype } = createRequire(import.meta.url)("kafkajs/src/network/requestQueue") as {
    prototype: { scheduleCheckPendingRequests(this: { readonly pending: readonly unknown[] }): void };
  };
  const { scheduleCheckPendingRequests: schedule } = prototype;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this);
  };
}
