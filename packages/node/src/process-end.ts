/** A client that is flushed when the process ends. */
export interface EndingClient {
  /** Messages held, in flight included. */
  readonly held: number;
  /** Sends everything that is held within `timeoutMs`. Resolves when nothing is left. */
  flushWithin(timeoutMs: number): Promise<unknown>;
  /** How long the end of the process may wait for this client in total, in milliseconds. */
  readonly exitFlushTimeoutMs: number;
  readonly flushesOnSignals: boolean;
  /** Keeps or reports everything that is held before it returns: `process.exit()` and uncaught exceptions leave no time for more. */
  endNow(): void;
}

const SIGNALS = { SIGTERM: 15, SIGINT: 2 } as const;
type Signal = keyof typeof SIGNALS;

/** How long a process may live on after the signal that it sent to itself, before it exits. */
const SIGNAL_GRACE_MS = 100;

// State of the module, because its subject is the process: all clients share one set of listeners on `process`.

/** Open clients. There are listeners only while one is open. */
const clients = new Set<EndingClient>();

/** The events of `process` that have a listener of ours. */
const listening = new Set<string>();

/** Flushes `client` when the process is about to end, until the returned function is called. */
export function watchProcessEnd(client: EndingClient): () => void {
  if (typeof process === "undefined" || typeof process.on !== "function") return () => {};
  clients.add(client);
  updateListeners();
  return () => {
    clients.delete(client);
    updateListeners();
  };
}

/** Adds the listeners that the open clients need and removes the others. */
function updateListeners(): void {
  const onSignals = [...clients].some(({ flushesOnSignals }) => flushesOnSignals);
  toggle("beforeExit", onBeforeExit, clients.size > 0);
  toggle("exit", onExit, clients.size > 0);
  for (const signal of Object.keys(SIGNALS)) toggle(signal, onSignal, onSignals);
}

function toggle(event: string, listener: (signal: Signal) => void, isWanted: boolean): void {
  if (isWanted === listening.has(event)) return;
  if (isWanted) {
    listening.add(event);
    process.on(event, listener);
  } else {
    listening.delete(event);
    process.off(event, listener);
  }
}

/** The event loop is empty: queued messages wait for a timer that does not keep the process alive. Sending them does. */
function onBeforeExit(): void {
  for (const client of clients) {
    if (client.held > 0) void flushAtEnd(client);
  }
}

/** The time that is left for a client whose first flush at the end has ended. */
const timeLeftMs = new WeakMap<EndingClient, number>();

/**
 * Flushes within the time that is left. `beforeExit` is emitted again whenever a listener started something, so without a limit an
 * `onError` that tracks its errors would keep the process alive forever while the server is down.
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

function onSignal(signal: Signal): void {
  void flushAndEnd(signal);
}

async function flushAndEnd(signal: Signal): Promise<void> {
  const flushing = [...clients].filter(({ flushesOnSignals }) => flushesOnSignals);
  // Our listeners are removed, so that a second signal ends the process at once.
  for (const name of Object.keys(SIGNALS)) toggle(name, onSignal, false);
  const hasOtherListener = process.listenerCount(signal) > 0;
  // Messages that the application tracks meanwhile were accepted, so they are flushed too while there is time.
  do await Promise.all(flushing.map(flushAtEnd));
  while (flushing.some((client) => client.held > 0 && (timeLeftMs.get(client) ?? 0) > 0));
  if (hasOtherListener) {
    // The application decides when to end.
    updateListeners();
    return;
  }
  process.kill(process.pid, signal);
  // The first process of a container is not ended by a signal without a listener.
  setTimeout(() => process.exit(128 + SIGNALS[signal]), SIGNAL_GRACE_MS);
}
