import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Balancer {
  readonly port: number;
  close(): Promise<void>;
}

/** Connects to the first of these ports on loopback that takes a connection. */
async function connectToOne(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports.filter((one) => one > 0)) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return socket;
    } catch {
      // Nobody listens there at the moment.
    }
  }
  return undefined;
}

/** One address for several processes: each connection goes to the next one that listens. */
export async function startBalancer(port: number, targets: () => readonly number[]): Promise<Balancer> {
  let turn = 0;
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, async (client) => {
    open.add(client);
    client.on("close", () => open.delete(client)).on("error", () => client.destroy());
    const ports = targets();
    turn += 1;
    const first = turn % Math.max(1, ports.length);
    const target = await connectToOne([...ports.slice(first), ...ports.slice(0, first)]);
    if (target === undefined) {
      client.destroy();
      return;
    }
    target.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("close", () => target.destroy());
    if (client.destroyed) target.destroy();
    client.pipe(target).pipe(client);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      server.close();
      for (const client of open) client.destroy();
      await once(server, "close");
    },
  };
}
