import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { systemClock } from "@sluice/resilience";
import { afterEach, describe, expect, test } from "vitest";
import type { HttpLimits } from "../../src/http/limits.js";
import type { Route } from "../../src/http/routing.js";
import { type HttpServer, startServer } from "../../src/http/server.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const servers: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => server.close(100)));
});

async function serve(routes: readonly Route[], limits: Partial<HttpLimits> = {}) {
  const metrics = createMetrics();
  const logger = createLogger({ write: () => {} });
  const server = await startServer({
    ...{ host: "127.0.0.1", port: 0, routes, clock: systemClock, limits, metrics, logger },
  });
  servers.push(server);
  const broken = async (code: string): Promise<number> =>
    (await metrics.read("sluice_http_connections_broken_total")).find(({ labels }) => labels.code === code)
      ?.value ?? 0;
  return { ...server, broken };
}

const GET = "GET /ok HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: Route = { path: "/ok", methods: { GET: () => ({ status: 200, body: { success: true } }) } };

/** On Linux, every address of 127.0.0.0/8 is this machine. */
async function open(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
}

/** Whether a request on this connection is answered with 200. */
async function isAnswered(socket: Socket, request = GET): Promise<boolean> {
  socket.write(request);
  const answer = await new Promise<Buffer | string>((resolve) => {
    socket.once("data", resolve);
    socket.once("close", () => resolve(""));
  });
  return String(answer).startsWith("HTTP/1.1 200");
}

describe.skipIf(process.platform !== "linux")("connections", () => {
  test("of an address that holds all places idle give way to those of others, and to its own new ones", async () => {
    const { port } = await serve([OK], { maxConnections: 20 });
    for (let i = 0; i < 20; i++) expect(await isAnswered(await open(port, "127.0.0.1"))).toBe(true);
    for (const address of ["127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.2"])
      expect(await isAnswered(await open(port, address))).toBe(true);
    expect(sockets.slice(20).filter(({ destroyed }) => destroyed)).toEqual([]);
  });

  test("that never send a whole request give way too", async () => {
    const { port } = await serve([OK], { maxConnections: 20 });
    for (let i = 0; i < 20; i++) (await open(port, "127.0.0.1")).write("GET /ok HTTP/1.1\r\nHo");
    for (let i = 0; i < 5; i++) expect(await isAnswered(await open(port, "127.0.0.2"))).toBe(true);
  });

  test("that await a response do not: further ones of the address with the most are refused", async () => {
    const answer = Promise.withResolvers<{ status: number }>();
    const allWait = Promise.withResolvers<void>();
    let handled = 0;
    const slow: Route = {
      path: "/ok",
      methods: {
        GET: () => {
          handled += 1;
          if (handled === 4) allWait.resolve();
          return answer.promise;
        },
      },
    };
    const { port, broken } = await serve([slow], { maxConnections: 4 });
    const waiting = [];
    for (let i = 0; i < 4; i++) waiting.push(isAnswered(await open(port, "127.0.0.1")));
    await allWait.promise;
    const refused = await open(port, "127.0.0.1");
    await closed(refused);
    expect(await broken("too_many_connections")).toBe(1);
    answer.resolve({ status: 200 });
    expect(await Promise.all(waiting)).toEqual([true, true, true, true]);
  });
});

describe.skipIf(process.platform !== "linux")("requests in turn", () => {
  test("a connection that sends hundreds without reading an answer is closed", async () => {
    let handled = 0;
    const never: Route = {
      path: "/ok",
      methods: {
        GET: () => {
          handled += 1;
          return new Promise(() => {});
        },
      },
    };
    const { port, broken } = await serve([never]);
    const socket = await open(port, "127.0.0.1");
    socket.write(GET.repeat(5_000));
    await closed(socket);
    expect(handled).toBeLessThanOrEqual(101);
    expect(await broken("unread_answers")).toBe(1);
  });

  test("many connections of an address share a limit, which leaves alone those that wait for each answer", async () => {
    const answer = Promise.withResolvers<{ status: number }>();
    let handled = 0;
    const slow: Route = {
      path: "/ok",
      methods: {
        GET: () => {
          handled += 1;
          return answer.promise;
        },
      },
    };
    const { port } = await serve([slow]);
    const greedy = [];
    for (let i = 0; i < 10; i++) greedy.push(await open(port, "127.0.0.1"));
    for (const socket of greedy) socket.write(GET.repeat(90));
    await Promise.race(greedy.map(closed));
    expect(handled).toBeLessThan(600);
    const patient = isAnswered(await open(port, "127.0.0.1"));
    const other = isAnswered(await open(port, "127.0.0.2"));
    answer.resolve({ status: 200 });
    expect(await Promise.all([patient, other])).toEqual([true, true]);
  });
});
