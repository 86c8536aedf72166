/** A client as the end of the process sees it. */
export interface EndingClient {
  /** Messages held, in flight included. */
  readonly held: number;
  /** Sends what is held, within `timeoutMs`; resolves when none is left. */
  flushWithin(timeoutMs: number): Promise<unknown>;
  /** What the end of the process may wait for this client, in all. */
  readonly exitFlushTimeoutMs: number;
  readonly flushesOnSignals: boolean;
  /** Keeps or tells what is held before it returns: `process.exit()` and an uncaught exception leave no time for more. */
  endNow(): void;
}

const SIGNALS = { SIGTERM: 15, SIGINT: 2 } as const;
type Signal = keyof typeof SIGNALS;

/** How long a process may outlive the signal that it sent itself before it is told to exit. */
const SIGNAL_GRACE_MS = 100;

/** Open clients. The listeners on `process` are one set for all of them, and there only while one is open. */
const clients = new Set<EndingClient>();

/** Flushes `client` when the process is about to end, until the answer is called. */
export function watchProcessEnd(client: EndingClient): () => void {
  if (typeof process === "undefined" || typeof process.on !== "function") return () => {};
  clients.add(client);
  listen();
  return () => {
    clients.delete(client);
    listen();
  };
}

const listening = new Set<string>();

/** Adds the listeners that the open clients need and takes away the others. */
function listen(): void {
  const onSignals = [...clients].some(({ flushesOnSignals }) => flushesOnSignals);
  toggle("beforeExit", onBeforeExit, clients.size > 0);
  toggle("exit", onExit, clients.size > 0);
  for (const signal of Object.keys(SIGNALS)) toggle(signal, onSignal, onSignals);
}

function toggle(event: string, listener: (signal: Signal) => void, wanted: boolean): void {
  if (wanted === listening.has(event)) return;
  if (wanted) {
    listening.add(event);
    process.on(event, listener);
  } else {
    listening.delete(event);
    process.off(event, listener);
  }
}

/** The event loop is empty: what is queued waits for a timer that does not hold the process. Sending it fills the loop again. */
function onBeforeExit(): void {
  for (const client of clients) {
    if (client.held > 0) void flushAtEnd(client);
  }
}

/** What is left of a client's time, once it has begun to run. */
const timeLeftMs = new WeakMap<EndingClient, number>();

/**
 * Flushes within what is left. The end comes once, but `beforeExit` comes again whenever something was done about it: an
 * `onError` that tracks about a loss would otherwise keep a process without a server alive for ever.
 */
async function flushAtEnd(client: EndingClient): Promise<void> {
  const leftMs = timeLeftMs.get(client) ?? client.exitFlushTimeoutMs;
  if (leftMs <= 0 && timeLeftMs.has(client)) return;
  const startedMs = performance.now();
  await client.flushWithin(leftMs);
  timeLeftMs.set(client, leftMs - (performance.now() - startedMs));
}

function onExit(): void {
  for (const client of clients) client.endNow();
}

async function onSignal(signal: Signal): Promise<void> {
  const flushing = [...clients].filter(({ flushesOnSignals }) => flushesOnSignals);
  // A second signal finds no listener of ours and ends the process at once, as its sender means it to.
  for (const name of Object.keys(SIGNALS)) toggle(name, onSignal, false);
  const hostDecides = process.listenerCount(signal) > 0;
  // What the host tracks meanwhile was accepted like everything before: the end waits for it too, while there is time.
  do await Promise.all(flushing.map(flushAtEnd));
  while (flushing.some((client) => client.held > 0 && (timeLeftMs.get(client) ?? 0) > 0));
  if (hostDecides) {
    listen();
    return;
  }
  process.kill(process.pid, signal);
  // Process 1 of a container is not ended by a signal that it does not handle.
  setTimeout(() => process.exit(128 + SIGNALS[signal]), SIGNAL_GRACE_MS);
}
