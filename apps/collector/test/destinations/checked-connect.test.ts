import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { checkedConnect } from "../../src/destinations/defined/defined-type.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";

const fixture = (name: string) => readFileSync(join(import.meta.dirname, "../sender/fixtures", name), "utf8");
const LOOPBACK = ["127.0.0.0/8"];

/** Listens on a free loopback port until the test ends. */
async function listening(server: Server): Promise<{ host: string; port: number }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: "hooks.test", port: (server.address() as AddressInfo).port };
}

const greeting = () =>
  createTlsServer({ key: fixture("valid.key"), cert: fixture("valid.pem") }, (socket) => socket.end("hello"));

function trustTestCa(): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, fixture("ca.pem")]);
  onTestFinished(() => setDefaultCACertificates(before));
}

const connectWith = (allow: readonly string[]) =>
  checkedConnect({
    policy: egressPolicy({ allow }),
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    timeoutMs: 60_000,
  });

it("opens an encrypted connection to a server with a trusted certificate", async () => {
  trustTestCa();
  const socket = await connectWith(LOOPBACK)({ ...(await listening(greeting())), tls: true });
  const [text] = await once(socket, "data");
  expect(String(text)).toBe("hello");
  socket.destroy();
});

it("trusts a certificate authority of one's own", async () => {
  const to = { ...(await listening(greeting())), tls: true };
  const socket = await connectWith(LOOPBACK)({ ...to, ca: fixture("ca.pem") });
  const [text] = await once(socket, "data");
  expect(String(text)).toBe("hello");
  socket.destroy();
  const other = connectWith(LOOPBACK)({ ...to, ca: fixture("self-signed.pem") });
  await expect(other).rejects.toThrow(/certificate/);
});

it("refuses a server whose certificate is not trusted", async () => {
  const connecting = connectWith(LOOPBACK)({ ...(await listening(greeting())), tls: true });
  await expect(connecting).rejects.toThrow(/certificate/);
});

it.each([false, true])("connects only where the policy allows, with tls: %s", async (tls) => {
  const connecting = connectWith([])({ ...(await listening(greeting())), tls });
  await expect(connecting).rejects.toThrow(/loopback/);
});

it("ends a handshake that hangs when it is aborted", async () => {
  const silent = createServer();
  const address = await listening(silent);
  const controller = new AbortController();
  const connecting = connectWith(LOOPBACK)({ ...address, tls: true, signal: controller.signal });
  const [socket] = (await once(silent, "connection")) as [Socket];
  // The first bytes of the handshake.
  await once(socket, "data");
  controller.abort(new Error("the delivery ended"));
  await expect(connecting).rejects.toThrow("the delivery ended");
});

it("ends a handshake when the server closes the connection", async () => {
  const closing = createServer((socket) => socket.once("data", () => socket.destroy()));
  const connecting = connectWith(LOOPBACK)({ ...(await listening(closing)), tls: true });
  await expect(connecting).rejects.toThrow();
});
