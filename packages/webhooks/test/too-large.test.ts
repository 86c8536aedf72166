import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import { expressHandler, nodeHandler, type ReceiverOptions } from "../src/index.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

interface Outcome {
  readonly text: string;
  readonly error: string | undefined;
}

/** Writes the whole request before reading the answer. Returns the answer, and how the connection ended. */
async function sendWhole(port: number, body: Buffer): Promise<Outcome> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  let error: string | undefined;
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", ({ message }) => {
    error = message;
  });
  socket.on("end", () => socket.end());
  socket.write(`POST /hook HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n`);
  for (let at = 0; at < body.length && error === undefined; at += PART_BYTES) {
    await new Promise<void>((resolve) => socket.write(body.subarray(at, at + PART_BYTES), () => resolve()));
    // Lets the receiver answer while the body is being sent.
    await setImmediate();
  }
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  await closed;
  return { text, error };
}

const PART_BYTES = 16 * 1_024;

const OPTIONS: ReceiverOptions = {
  secret: "secret",
  maxBodyBytes: 1_000,
  onMessage: () => {},
  onRejected: () => {},
};

describe.each<[string, RequestListener]>([
  ["node:http", nodeHandler(OPTIONS)],
  ["Express", express().use("/hook", expressHandler(OPTIONS))],
])("%s", (_name, listener) => {
  it("lets every sender of a large body read its 413", async () => {
    const port = await listen(listener);
    const body = Buffer.alloc(1_024 * 1_024, "x");
    for (let attempt = 0; attempt < 100; attempt++) {
      const { text, error } = await sendWhole(port, body);
      expect({ attempt, status: text.slice(0, 12), error }).toEqual({
        attempt,
        status: "HTTP/1.1 413",
        error: undefined,
      });
      expect(text).toContain("the body is over 1000 bytes");
    }
  });

  it("closes the connection of a sender that does not stop", async () => {
    const port = await listen(listener);
    const socket = connect({ port, host: "127.0.0.1" });
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    const part = Buffer.alloc(PART_BYTES, "x");
    let sent = 0;
    const write = (): void => {
      do sent += part.length;
      while (socket.write(part) && sent < 1_024 ** 3);
    };
    socket.on("error", () => {});
    socket.on("drain", write);
    socket.resume();
    socket.write(`POST /hook HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${1_024 ** 3}\r\n\r\n`);
    write();
    await closed;
    expect(sent).toBeLessThan(64 * 1_024 * 1_024);
  });
});
