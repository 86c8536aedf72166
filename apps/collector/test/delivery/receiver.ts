import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

/** A received request. */
export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly messageId: string;
  readonly attempt: number;
}

/** The response: a status, a function that writes it, or nothing, which lets the request hang. */
export type Answer =
  | number
  | "hang"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | ((request: Received, response: ServerResponse) => void);

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Sets the responses from now on. */
  answer(answer: Answer | ((request: Received) => Answer)): void;
  /** Resolves when this many requests were received in total. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

const opened: Receiver[] = [];

/** Call this in a test file. Closes the receivers that its tests open. */
export function closeReceivers(): void {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((receiver) => receiver.close()));
  });
}

/** Starts a webhook receiver on a free loopback port. It answers 200 by default. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const waiters = new Set<() => void>();
  let script: (request: Received) => Answer = () => 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const entry: Received = {
        path: request.url ?? "",
        method: request.method ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
        messageId: String(request.headers["x-message-id"]),
        attempt: Number(request.headers["x-attempt"]),
      };
      received.push(entry);
      const answer = script(entry);
      if (typeof answer === "function") answer(entry, response);
      else if (typeof answer === "number") response.writeHead(answer).end();
      else if (answer !== "hang") response.writeHead(answer.status, answer.headers).end(answer.body);
      for (const waiter of waiters) waiter();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: (answer) => {
      script =
        typeof answer === "function" && answer.length < 2
          ? (answer as typeof script)
          : () => answer as Answer;
    },
    until: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (received.length < count) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  opened.push(receiver);
  return receiver;
}
