import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { verify } from "@sluice/webhooks";
import type { Receipt } from "../ledger.ts";
import {
  DESTINATIONS,
  type DestinationName,
  failsAtFirst,
  isRefusedForGood,
  type Ledger,
  partsOf,
} from "../ledger.ts";

export const SHARED_SECRET = "chaos-secret";

export interface Receiver {
  readonly port: number;
  /** How long it waits before it answers a request. Default: not at all. */
  delayMs: (destination: DestinationName) => number;
  /** The connection from this port broke: the answer to its last request may be lost. */
  markBroken(port: number | undefined): void;
  close(): Promise<void>;
}

/** A webhook receiver that writes each request into the ledger. Its path names the destination. */
export async function startReceiver(ledger: Ledger): Promise<Receiver> {
  /** The last request of each connection, by the port that it comes from. */
  const lastOf = new Map<number | undefined, Receipt>();
  /** Connections that broke. Their last request may be read only afterwards, if this process is busy. */
  const broken = new Set<number | undefined>();
  const server = createServer((request, response) => {
    request
      .toArray()
      .then((chunks) => take(request, response, Buffer.concat(chunks)))
      // The request broke off before it was complete.
      .catch(() => {});
  });
  const take = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const receipt = receiptOf(request, body, ledger);
    if (receipt === undefined) return void response.writeHead(404).end();
    ledger.receipts.push(receipt);
    lastOf.set(request.socket.remotePort, receipt);
    if (broken.has(request.socket.remotePort)) receipt.isUncertain = true;
    response.on("close", () => {
      if (!response.writableFinished) receipt.isUncertain = true;
    });
    const delayMs = receiver.delayMs(receipt.destination);
    const answer = (): void => void response.writeHead(receipt.status).end();
    if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
  };
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver: Receiver = {
    port: (server.address() as AddressInfo).port,
    delayMs: () => 0,
    markBroken(port) {
      broken.add(port);
      const last = lastOf.get(port);
      if (last !== undefined) last.isUncertain = true;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return receiver;
}

function receiptOf({ url, headers }: IncomingMessage, body: Buffer, ledger: Ledger): Receipt | undefined {
  const destination = DESTINATIONS.find((name) => url === `/${name}`);
  if (destination === undefined) return undefined;
  const { messageId, userId, type, traits, properties } = JSON.parse(body.toString("utf8"));
  if (!verify(body, String(headers["x-signature"]), SHARED_SECRET))
    ledger.differences.push(`${messageId}: its signature does not verify`);
  if (messageId !== headers["x-message-id"]) ledger.differences.push(`${messageId}: another X-Message-Id`);
  const { n } = partsOf(messageId);
  const attempt = Number(headers["x-attempt"]);
  if (destination === "notices") {
    if (type !== "identify" || traits?.[Object.keys(traits)[0] ?? ""] !== true)
      ledger.differences.push(`${messageId}: not the notice of an audience`);
  } else if (properties?.n !== n) ledger.differences.push(`${messageId}: its properties are different`);
  return {
    destination,
    messageId,
    userId,
    atMs: performance.now(),
    attempt,
    status: statusFor(destination, n, attempt),
    isUncertain: false,
  };
}

function statusFor(destination: DestinationName, n: number, attempt: number): number {
  if (destination === "notices") return 200;
  if (isRefusedForGood(n)) return 400;
  return failsAtFirst(n) && attempt === 1 ? 503 : 200;
}
