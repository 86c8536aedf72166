import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { afterEach } from "vitest";

export interface TcpServer {
  readonly port: number;
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Bytes that were received so far, over all connections (after TLS). */
  readonly received: string;
}

const servers: { server: Server; sockets: Set<Socket> }[] = [];

/** To be called in a test file: closes what a test opened. */
export function closeTcpServers(): void {
  afterEach(async () => {
    for (const { server, sockets } of servers.splice(0)) {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
}

/** A bare server on a free loopback port, for what no HTTP server would do. `onRequest` runs once a request's body is there. */
export async function tcpServer(
  onRequest: (socket: Socket) => void,
  { host = "127.0.0.1", tls }: { host?: string; tls?: TlsOptions } = {},
): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let received = "";
  const onSocket = (socket: Socket): void => {
    let request = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      request += chunk.toString("latin1");
      const head = request.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0);
      if (head < 0 || request.length < head + 4 + length) return;
      request = "";
      onRequest(socket);
    });
  };
  const server = tls === undefined ? createServer(onSocket) : createTlsServer(tls, onSocket);
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  servers.push({ server, sockets });
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    get received() {
      return received;
    },
  };
}

/** A key pair of `fixtures/`. */
export function certificate(name: string): { key: string; cert: string } {
  return { key: fixture(`${name}.key`), cert: fixture(`${name}.pem`) };
}

export function fixture(name: string): string {
  return readFileSync(new URL(`./fixtures/${name}`, import.meta.url), "utf8");
}
