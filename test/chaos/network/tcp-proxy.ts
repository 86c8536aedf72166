import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * - `pass`: bytes go through.
 * - `reset`: open connections are reset, and new ones too.
 * - `black_hole`: nothing goes through in either direction, and nobody is told.
 * - `deaf`: requests go through, answers are swallowed.
 */
export type ProxyMode = "pass" | "reset" | "black_hole" | "deaf";

/** A client that closes so soon after an answer may have given up before it came. Idle connections are kept for longer. */
const GIVEN_UP_WITHIN_MS = 1_000;

/** A TCP proxy between two processes that can behave as a bad network. */
export interface TcpProxy {
  readonly port: number;
  /** Where new connections go, or a function that chooses for each. Undefined: nobody listens there, so they are reset. */
  target: number | undefined | (() => number | undefined);
  /** Leaving `black_hole` and `deaf` resets their connections: their bytes are gone. */
  setMode(mode: ProxyMode): void;
  /** Resets the connections that are open now. */
  resetAll(): void;
  /** Called with the port from which a connection to the target came, if it ended without an answer having gone through for sure. */
  onBroken: (port: number | undefined) => void;
  close(): Promise<void>;
}

export async function startTcpProxy(): Promise<TcpProxy> {
  let mode: ProxyMode = "pass";
  const open = new Set<readonly [client: Socket, upstream: Socket]>();
  const broken = new WeakSet<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    client.on("error", () => {});
    const port = typeof proxy.target === "function" ? proxy.target() : proxy.target;
    if (mode === "reset" || port === undefined) return client.resetAndDestroy();
    const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
    const pair = [client, upstream] as const;
    open.add(pair);
    let localPort: number | undefined;
    upstream.once("connect", () => {
      localPort = upstream.localPort;
    });
    let answeredAtMs = Number.NEGATIVE_INFINITY;
    let isAnswered = true;
    client.on("close", () => {
      const isSoon = performance.now() - answeredAtMs < GIVEN_UP_WITHIN_MS;
      if (!isAnswered || isSoon) broken.add(upstream);
    });
    const end = (): void => {
      if (open.delete(pair) && broken.has(upstream)) proxy.onBroken(localPort);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of pair) socket.on("close", end).on("error", () => {});
    client.on("data", (bytes) => {
      isAnswered = false;
      if (mode !== "black_hole") upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      answeredAtMs = performance.now();
      isAnswered = true;
      if (mode === "pass") client.write(bytes);
      else broken.add(upstream);
    });
  });
  const resetAll = (): void => {
    for (const [client, upstream] of open) {
      broken.add(upstream);
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    target: undefined,
    setMode(next) {
      const lostBytes = mode === "black_hole" || mode === "deaf";
      mode = next;
      if (lostBytes || next === "reset") resetAll();
    },
    resetAll,
    onBroken: () => {},
    async close() {
      server.close();
      resetAll();
      await once(server, "close");
    },
  };
  return proxy;
}
