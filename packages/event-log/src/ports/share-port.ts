/** Either end of a channel between two threads: a `MessagePort` of `node:worker_threads`. */
export interface SharePort {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  on(event: "message" | "close", listener: (message: unknown) => void): unknown;
  close(): void;
}
