import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { connectToNats } from "../../src/jetstream/connection.js";

const MB = 1_024 * 1_024;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Speaks as much of the protocol of NATS as a connection needs. The first client is not read from any more once it is connected. */
async function serverThatStops(): Promise<string> {
  let clients = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    clients += 1;
    const isFirst = clients === 1;
    sockets.add(socket);
    socket.on("error", () => {});
    const facts = { server_id: "S", version: "2.10.27", proto: 1, headers: true, max_payload: 8 * MB };
    socket.write(`INFO ${JSON.stringify(facts)}\r\n`);
    socket.on("data", (data) => {
      if (!data.includes("PING\r\n")) return;
      socket.write("PONG\r\n");
      if (isFirst) socket.pause();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("leaves a server that takes nothing more, although much was written to it", async () => {
  const connection = await connectToNats({ servers: [await serverThatStops()], name: "test" });
  closing.push(() => connection.close());
  const seen: string[] = [];
  const changes = ["staleConnection", "disconnect", "reconnect"];
  // More than the kernel takes for a reader that is gone.
  for (let sent = 0; sent < 64; sent++) connection.publish("subject", new Uint8Array(MB));
  for await (const { type } of connection.status()) {
    if (changes.includes(type)) seen.push(type);
    if (type === "reconnect") break;
  }
  expect(seen).toEqual(changes);
});
