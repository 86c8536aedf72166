import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
// @boundaries-ignore the thread is for tests of three packages
import { answeringThread } from "../../../../packages/resilience/test/answering-thread.js";
import type { ResolveHost } from "../../src/sender/checked-connector.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";
import { type Endpoint, type EndpointOptions, type Exchange, endpoint } from "../../src/sender/endpoint.js";
import { certificate, closeTcpServers, fixture, tcpServer } from "./tcp-server.js";

const open: Endpoint[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
closeTcpServers();

const BODY = Buffer.from('{"type":"track"}');
const loopback: ResolveHost = async () => [{ address: "127.0.0.1", family: 4 }];

function at(url: string, options: Partial<EndpointOptions> = {}): Endpoint {
  const made = endpoint({
    url,
    clock: systemClock,
    policy: egressPolicy({ allow: ["127.0.0.0/8", "::1"] }),
    resolve: loopback,
    timeoutMs: 5_000,
    ...options,
  });
  open.push(made);
  return made;
}

const post = (one: Endpoint): Promise<Exchange> => one.post(["X-Test", "yes"], BODY);
const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

describe("one exchange", () => {
  it("sends bytes and headers unchanged, and returns status, body, address and Retry-After", async () => {
    const server = await tcpServer((socket) =>
      socket.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\nbusy"),
    );
    const exchange = await post(at(`http://hooks.test:${server.port}/a/b?c=d`));
    expect(exchange).toMatchObject({
      kind: "answered",
      status: 503,
      retryAfter: "7",
      body: "busy",
      address: "127.0.0.1",
    });
    expect(server.received).toMatch(/^POST \/a\/b\?c=d HTTP\/1\.1\r\n/);
    expect(server.received).toContain(`host: hooks.test:${server.port}\r\n`);
    expect(server.received).toContain("X-Test: yes\r\n");
    expect(server.received.endsWith(`\r\n\r\n${BODY.toString()}`)).toBe(true);
  });

  it("reuses one connection for consecutive exchanges", async () => {
    const server = await tcpServer((socket) => socket.write(ok));
    const one = at(`http://127.0.0.1:${server.port}/`);
    for (let i = 0; i < 3; i++) expect(await post(one)).toMatchObject({ kind: "answered", status: 200 });
    expect(server.connections).toBe(1);
  });

  it("sends again on a new connection if the receiver closed the idle one", async () => {
    let requests = 0;
    const server = await tcpServer((socket) => {
      requests += 1;
      if (requests === 2) socket.destroy();
      else socket.write(ok);
    });
    const one = at(`http://127.0.0.1:${server.port}/`);
    expect(await post(one)).toMatchObject({ status: 200 });
    expect(await post(one)).toMatchObject({ status: 200 });
    expect([requests, server.connections]).toEqual([3, 2]);
  });

  it("does not send again if a new connection breaks, or a response had started", async () => {
    let requests = 0;
    const server = await tcpServer((socket) => {
      requests += 1;
      if (requests === 1) socket.write(ok);
      else socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort");
    });
    const one = at(`http://127.0.0.1:${server.port}/`);
    await post(one);
    expect(await post(one)).toMatchObject({
      kind: "failed",
      failure: { code: expect.stringMatching(/^(connection_lost|bad_response)$/) },
    });
    expect(requests).toBe(2);
  });

  it("does not follow a redirect", async () => {
    const target = await tcpServer((socket) => socket.write(ok));
    const server = await tcpServer((socket) =>
      socket.write(
        `HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:${target.port}/\r\ncontent-length: 0\r\n\r\n`,
      ),
    );
    expect(await post(at(`http://127.0.0.1:${server.port}/`))).toMatchObject({
      kind: "answered",
      status: 307,
    });
    expect(target.connections).toBe(0);
  });

  it("takes no proxy from the environment", async () => {
    const proxy = await tcpServer((socket) => socket.write(ok));
    const server = await tcpServer((socket) => socket.write(ok));
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    try {
      expect(await post(at(`http://127.0.0.1:${server.port}/`))).toMatchObject({ status: 200 });
    } finally {
      vi.unstubAllEnvs();
    }
    expect(proxy.connections).toBe(0);
  });
});

describe("a connection is opened only to an allowed address", () => {
  const closed = egressPolicy();
  it.each([
    ["a literal", "127.0.0.1"],
    ["an octal part", "0177.0.0.1"],
    ["hexadecimal", "0x7f000001"],
    ["hexadecimal parts", "0x7f.0.0.0x1"],
    ["decimal", "2130706433"],
    ["a short form", "127.1"],
    ["full-width digits", "１２７.0.0.1"],
    ["a trailing dot", "127.0.0.1."],
    ["IPv6", "[::1]"],
    ["IPv4-mapped", "[::ffff:127.0.0.1]"],
    ["IPv4-mapped in hexadecimal", "[::ffff:7f00:1]"],
    ["IPv4-compatible", "[::127.0.0.1]"],
    ["this machine", "0.0.0.0"],
    ["this machine in IPv6", "[::]"],
    ["a name", "localhost"],
    ["a name with a trailing dot", "localhost."],
    ["a name in capitals", "LOCALHOST"],
  ])("%s: %s", async (_name, host) => {
    const server = await tcpServer((socket) => socket.write(ok));
    const exchange = await post(at(`http://${host}:${server.port}/`, { policy: closed }));
    expect(exchange).toMatchObject({ kind: "failed", failure: { code: "address_not_allowed" } });
    expect(server.connections).toBe(0);
  });

  it("refuses a name with any forbidden address among its answers", async () => {
    const server = await tcpServer((socket) => socket.write(ok));
    const resolve: ResolveHost = async () => [
      { address: "198.41.0.4", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const exchange = await post(at(`http://hooks.test:${server.port}/`, { policy: closed, resolve }));
    expect(exchange).toMatchObject({
      failure: {
        code: "address_not_allowed",
        message: expect.stringContaining("hooks.test is 127.0.0.1, which is a loopback address"),
      },
    });
    expect(server.connections).toBe(0);
  });

  it("connects to the addresses that were checked: the name is resolved once per connection", async () => {
    const server = await tcpServer((socket) =>
      socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
    );
    // Public at the first look, private at the second: whoever resolves again after judging connects to loopback.
    const answers = ["198.41.0.4", "127.0.0.1"];
    let asked = 0;
    const resolve: ResolveHost = async () => [{ address: answers[asked++ % 2] ?? "", family: 4 }];
    const clock = manualClock();
    const one = at(`http://hooks.test:${server.port}/`, { policy: closed, resolve, clock });
    const first = post(one);
    await clock.advance(5_000);
    expect(await first).toMatchObject({ kind: "failed" });
    expect(await post(one)).toMatchObject({ failure: { code: "address_not_allowed" } });
    expect([asked, server.connections]).toEqual([2, 0]);
  });
});

describe("TLS", () => {
  const urlOf = (port: number): string => `https://hooks.test:${port}/`;
  const extraCa = [fixture("ca.pem")];
  const answering = (name: string, more: object = {}) =>
    tcpServer((socket) => socket.write(ok), { tls: { ...certificate(name), ...more } });

  it("accepts a certificate of an authority that the destination trusts", async () => {
    const server = await answering("valid");
    expect(await post(at(urlOf(server.port), { extraCa }))).toMatchObject({ kind: "answered", status: 200 });
  });

  it.each([
    ["self-signed", "self-signed", /self-signed.*no request was sent.*caFile/],
    ["of an authority that nobody told us of", "valid", /no request was sent.*caFile/],
  ])("refuses a certificate that is %s before it sends anything", async (_name, file, message) => {
    const server = await answering(file);
    expect(await post(at(urlOf(server.port)))).toMatchObject({
      kind: "failed",
      failure: { code: "certificate_invalid", message: expect.stringMatching(message) },
    });
    expect(server.received).toBe("");
  });

  it.each([
    ["for another name", "other-name", /another host name/],
    ["expired", "expired", /expired/],
  ])("refuses a certificate that is %s, though its authority is trusted", async (_name, file, message) => {
    const server = await answering(file);
    expect(await post(at(urlOf(server.port), { extraCa }))).toMatchObject({
      failure: { code: "certificate_invalid", message: expect.stringMatching(message) },
    });
    expect(server.received).toBe("");
  });

  it("checks certificates whatever NODE_TLS_REJECT_UNAUTHORIZED says", async () => {
    const server = await answering("self-signed");
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    try {
      expect(await post(at(urlOf(server.port)))).toMatchObject({ failure: { code: "certificate_invalid" } });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("speaks TLS 1.2 and newer only", async () => {
    const old = await answering("valid", {
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    expect(await post(at(urlOf(old.port), { extraCa }))).toMatchObject({ failure: { code: "tls_failed" } });
    const fair = await answering("valid", { maxVersion: "TLSv1.2" });
    expect(await post(at(urlOf(fair.port), { extraCa }))).toMatchObject({ status: 200 });
  });

  it("fails against a server without TLS", async () => {
    const server = await tcpServer((socket) => socket.write(ok));
    const clock = manualClock();
    const exchange = post(at(urlOf(server.port), { clock }));
    // A bare server waits for a request that it understands.
    await clock.advance(0);
    await clock.advance(5_000);
    expect(await exchange).toMatchObject({ kind: "failed" });
  });
});

it("accepts an answer that arrived in time, although the process stood still beyond the deadline", async () => {
  const receiver = await answeringThread(certificate("valid"));
  const timeoutMs = 1_000;
  const one = at(`https://hooks.test:${receiver.port}/`, { timeoutMs, extraCa: [fixture("ca.pem")] });
  const startedMs = systemClock.monotonic();
  const exchange = post(one);
  await receiver.standStill(systemClock.monotonic, startedMs + timeoutMs + 20);
  expect(await exchange).toMatchObject({ kind: "answered", status: 200 });
  await receiver.close();
});

describe("misbehaving receivers", () => {
  /** An exchange that only the deadline ends: the clock is moved once the server has the request. */
  const endedByDeadline = async (
    misbehave: (socket: import("node:net").Socket) => void,
  ): Promise<Exchange> => {
    const clock = manualClock();
    let reached = (): void => {};
    const began = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const server = await tcpServer((socket) => {
      misbehave(socket);
      reached();
    });
    const exchange = post(at(`http://127.0.0.1:${server.port}/`, { clock }));
    await began;
    await clock.advance(5_000);
    return exchange;
  };
  const timeout = { kind: "failed", failure: { code: "timeout" } };

  it("hang", async () => {
    expect(await endedByDeadline(() => {})).toMatchObject(timeout);
  });

  it("send headers and no body", async () => {
    expect(
      await endedByDeadline((socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n")),
    ).toMatchObject(timeout);
  });

  it("drip the body", async () => {
    const timers: NodeJS.Timeout[] = [];
    const exchange = await endedByDeadline((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
      timers.push(setInterval(() => socket.write("x"), 1));
      socket.on("close", () => timers.forEach(clearInterval));
    });
    expect(exchange).toMatchObject(timeout);
  });

  it("drip the headers", async () => {
    expect(await endedByDeadline((socket) => void socket.write("HTTP/1.1 200 OK\r\nx-a: "))).toMatchObject(
      timeout,
    );
  });

  const ended = async (answer: (socket: import("node:net").Socket) => void): Promise<Exchange> => {
    const server = await tcpServer(answer);
    return post(at(`http://127.0.0.1:${server.port}/`));
  };
  const failed = (code: string) => ({ kind: "failed", failure: { code } });

  it("send an endless answer: the status counts, 64 KB are read, 4 KB kept", async () => {
    let written = 0;
    const exchange = await ended((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk)) written += 0x4000;
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
    expect(exchange).toMatchObject({ kind: "answered", status: 200, body: "x".repeat(4_096) });
    // What the two sockets buffer between them, and no more.
    expect(written).toBeLessThan(16 * 1_024 * 1_024);
  });

  it("flood with headers", async () => {
    const exchange = await ended((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = (): void => {
        while (!socket.destroyed && socket.write(`x-${Math.random()}: ${"y".repeat(1_000)}\r\n`));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
    expect(exchange).toMatchObject(failed("bad_response"));
  });

  it("send 1xx answers without end", async () => {
    const exchange = await ended((socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
    expect(exchange).toMatchObject(failed("bad_response"));
  });

  it("send a few 1xx answers and then a real one", async () => {
    const exchange = await ended((socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}`),
    );
    expect(exchange).toMatchObject({ kind: "answered", status: 200 });
  });

  it("switch protocols", async () => {
    const exchange = await ended((socket) =>
      socket.write("HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
    );
    expect(exchange).toMatchObject({ kind: "failed" });
  });

  it("send less than they announced", async () => {
    const exchange = await ended((socket) =>
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"),
    );
    expect(exchange).toMatchObject({ kind: "failed" });
  });

  it("send no HTTP", async () => {
    expect(await ended((socket) => void socket.write("SSH-2.0-OpenSSH_9.2\r\n"))).toMatchObject(
      failed("bad_response"),
    );
  });

  it("reset the connection", async () => {
    expect(await ended((socket) => socket.resetAndDestroy())).toMatchObject(failed("connection_lost"));
  });

  it("send a compressed bomb: it is not inflated", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const exchange = await ended((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    expect(exchange).toMatchObject({ kind: "answered", status: 200 });
    expect(exchange.kind === "answered" && exchange.body.length).toBeLessThanOrEqual(4_096);
  });

  it("name 500 content encodings", async () => {
    const exchange = await ended((socket) =>
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-encoding: ${Array(500).fill("gzip").join(", ")}\r\ncontent-length: 2\r\n\r\nok`,
      ),
    );
    expect(exchange).toMatchObject({ kind: "answered", status: 200, body: "ok" });
  });

  it("are not there", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, "close");
    const refused = await post(at(`http://127.0.0.1:${port}/`));
    expect(refused).toMatchObject(failed("connection_refused"));
  });

  it("have a name that does not exist", async () => {
    const resolve: ResolveHost = async () => {
      throw Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
    };
    expect(await post(at("http://nowhere.test/", { resolve }))).toMatchObject(failed("dns_failed"));
  });

  it("have a name server that does not answer: the deadline holds for the look-up too", async () => {
    const clock = manualClock();
    const exchange = post(at("http://nowhere.test/", { clock, resolve: () => new Promise(() => {}) }));
    await clock.advance(5_000);
    expect(await exchange).toMatchObject(timeout);
  });
});

it("ends what is under way when it is closed", async () => {
  const server = await tcpServer(() => {});
  const one = at(`http://127.0.0.1:${server.port}/`);
  const exchange = post(one);
  await one.close();
  expect(await exchange).toMatchObject({ kind: "failed", failure: { code: "aborted" } });
});
