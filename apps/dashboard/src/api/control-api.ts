import { type AdminClient, adminClient, type LiveItem, type LiveOptions } from "@sluice/admin-client";

/** The API for the pages: the control API and the collector's metrics. */
export interface ControlApi extends AdminClient {
  /** The live stream. `onOpen` is called when the stream is open, even before the first event. */
  live(options?: LiveOptions, onOpen?: () => void): AsyncGenerator<LiveItem>;
  readonly connection: ConnectionWatch;
}

export interface ControlApiOptions {
  readonly token: string;
  /** Called when a call is answered with 401. */
  readonly onUnauthorized?: () => void;
}

export function controlApi({ token, onUnauthorized = () => {} }: ControlApiOptions): ControlApi {
  const url = location.origin;
  const connection = connectionWatch();
  const watched: typeof fetch = async (...request) => {
    let response: Response;
    try {
      response = await fetch(...request);
    } catch (error) {
      // A call that the page aborted says nothing about the collector.
      if (request[1]?.signal?.aborted !== true) connection.notReached(Date.now());
      throw error;
    }
    connection.answered();
    if (response.status === 401) onUnauthorized();
    return response;
  };
  return {
    ...adminClient({ url, token, fetch: watched }),
    live: (options, onOpen = () => {}) =>
      adminClient({ url, token, fetch: watched }).live({ ...options, onOpen }),
    connection,
  };
}

/** Whether the collector can be reached. */
type Connection =
  | { readonly kind: "answers" }
  /** Calls have failed to reach it since then. */
  | { readonly kind: "lost"; readonly sinceMs: number };

/** The connection state, reported by every call of a session. */
interface ConnectionWatch {
  get(): Connection;
  watch(listener: () => void): () => void;
  answered(): void;
  notReached(nowMs: number): void;
}

function connectionWatch(): ConnectionWatch {
  let connection: Connection = { kind: "answers" };
  const listeners = new Set<() => void>();
  const set = (next: Connection) => {
    if (next.kind === connection.kind) return;
    connection = next;
    for (const listener of listeners) listener();
  };
  return {
    get: () => connection,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    answered: () => set({ kind: "answers" }),
    notReached: (nowMs) => set({ kind: "lost", sinceMs: nowMs }),
  };
}
