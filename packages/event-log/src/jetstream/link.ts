import type { NatsConnection } from "@nats-io/transport-node";
import type { Clock } from "@sluice/resilience";
import type { EngineHealth } from "../replicated/engine.js";

/** Knows whether the connection is there, and tells those who wait for it or depend on it. */
export interface Link {
  health(): EngineHealth;
  onHealth(listener: () => void): () => void;
  /** Resolves with whether the connection is there, at the latest after `timeoutMs`. */
  connected(timeoutMs: number): Promise<boolean>;
  /** Rejects with `Disconnected` if the connection is lost before `call` ends: its answer may never come. */
  whileConnected<T>(call: Promise<T>): Promise<T>;
}

export class Disconnected extends Error {
  override readonly name = "Disconnected";
}

/** Follows the state of a connection until it is closed. */
export function followLink(connection: NatsConnection, clock: Clock): Link {
  let health: EngineHealth = { kind: "connected" };
  const listeners = new Set<() => void>();
  const setHealth = (next: EngineHealth): void => {
    if (next.kind === health.kind) return;
    health = next;
    for (const listener of [...listeners]) listener();
  };
  const lose = (reason: string): void =>
    setHealth({ kind: "disconnected", reason, sinceMs: clock.monotonic() });

  async function followStatus(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") lose(`the connection to ${status.server} was lost`);
      if (status.type === "reconnect") setHealth({ kind: "connected" });
    }
    lose("the connection is closed");
  }
  // The iterator ends with the connection and reports no errors.
  followStatus().catch((error: unknown) => lose(String(error)));

  const onHealth = (listener: () => void): (() => void) => {
    const own = (): void => listener();
    listeners.add(own);
    return () => void listeners.delete(own);
  };

  return {
    health: () => health,
    onHealth,
    connected(timeoutMs) {
      if (health.kind === "connected") return Promise.resolve(true);
      return new Promise((resolve) => {
        const finish = (isConnected: boolean): void => {
          cancel();
          stop();
          resolve(isConnected);
        };
        const cancel = clock.after(timeoutMs, () => finish(false));
        const stop = onHealth(() => finish(health.kind === "connected"));
      });
    },
    whileConnected(call) {
      return new Promise((resolve, reject) => {
        const stop = onHealth(() => {
          if (health.kind === "disconnected") reject(new Disconnected(health.reason));
        });
        call.then(resolve, reject).finally(stop);
      });
    },
  };
}
