import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

export type Manner = "refuses" | "accepts" | "says nothing";

export interface FakeCluster {
  readonly urls: readonly string[];
  /** How many clients tried, for each server. */
  readonly tries: readonly number[];
  /** Ends a server's connections, and takes no new ones. */
  end(server: number): void;
  /** Resolves when a client has connected to one of them. */
  tried(): Promise<void>;
  /** Ends all. */
  close(): void;
}

/** Servers that tell each client of all others, as those of a NATS cluster do, before they look at its credentials. */
export async function fakeCluster(manners: readonly Manner[]): Promise<FakeCluster> {
  const first = Promise.withResolvers<void>();
  const tries = manners.map(() => 0);
  const sockets: Set<Socket>[] = manners.map(() => new Set());
  const addresses: string[] = [];
  const answer = (socket: Socket, manner: Manner): void => {
    if (manner === "says nothing") return;
    const facts = { server_id: "S", version: "2.10.27", proto: 1, headers: true, max_payload: 1_024 };
    socket.write(`INFO ${JSON.stringify({ ...facts, connect_urls: addresses })}\r\n`);
    socket.on("data", (data) => {
      if (manner === "refuses") socket.end("-ERR 'Authorization Violation'\r\n");
      else if (data.includes("PING\r\n")) socket.write("PONG\r\n");
    });
  };
  const servers = manners.map((manner, index): Server => {
    const server = createServer((socket) => {
      tries[index] = (tries[index] ?? 0) + 1;
      sockets[index]?.add(socket);
      first.resolve();
      socket.on("error", () => {});
      answer(socket, manner);
    });
    return server.listen(0, "127.0.0.1");
  });
  await Promise.all(servers.map((server) => once(server, "listening")));
  addresses.push(...servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`));
  const end = (index: number): void => {
    servers[index]?.close();
    for (const socket of sockets[index] ?? []) socket.destroy();
  };
  return {
    urls: addresses.map((address) => `nats://${address}`),
    tries,
    end,
    tried: () => first.promise,
    close: () => manners.forEach((_, index) => void end(index)),
  };
}
