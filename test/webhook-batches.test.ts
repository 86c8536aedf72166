import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createProxy } from "node:net";
import { type Delivery, nodeHandler, verifyStandard, type WebhookPayload } from "@sluice/webhooks";
import { expect, it, onTestFinished } from "vitest";
import { startedCollector } from "./destinations/started-collector.js";

const SECRET = "a-secret-of-this-test";

interface Request {
  readonly id: string;
  readonly attempt: string;
  readonly body: string;
  readonly isVerified: boolean;
}

/** A receiver made with `@sluice/webhooks`, behind a proxy that may hold its answers back. */
async function receiver() {
  const requests: Request[] = [];
  const got: { readonly id: string; readonly event: unknown }[] = [];
  let holdsAnswers = true;
  const onMessage = (payload: WebhookPayload, { messageId }: Delivery): void => {
    got.push({ id: messageId, event: payload.type === "track" ? payload.event : payload.type });
  };
  const handle = nodeHandler({ secret: SECRET, onMessage });
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString();
      const header = (name: string): string => String(request.headers[name]);
      const headers = {
        "webhook-id": header("webhook-id"),
        "webhook-timestamp": header("webhook-timestamp"),
        "webhook-signature": header("webhook-signature"),
      };
      const isVerified = verifyStandard(body, headers, SECRET) === "valid";
      requests.push({ id: header("webhook-id"), attempt: header("x-attempt"), body, isVerified });
    });
    void handle(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const proxy = createProxy((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.pipe(upstream);
    upstream.on("data", (data) => holdsAnswers || client.write(data));
    for (const socket of [client, upstream])
      socket
        .on("error", () => {})
        .on("close", () => {
          client.destroy();
          upstream.destroy();
        });
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    proxy.close();
  });
  return {
    requests,
    got,
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`,
    answer: () => {
      holdsAnswers = false;
    },
  };
}

it("repeats a batch with its id, content and order after the collector was killed before the answer", async () => {
  const { requests, got, url, answer } = await receiver();
  await using collector = await startedCollector("");
  const { destinationId, send } = await collector.connect("webhooks", {
    ...{ webhooks: [{ url }], sharedSecret: SECRET },
    batch: { maxMessages: 100, maxAgeMs: 1_000 },
  });
  await send("m0", "m1");
  await send("m2");
  await expect.poll(() => requests.length, { timeout: 20_000 }).toBe(1);
  // Each of these would be in the batch, or change it.
  await send("m3");
  const filters = [{ action: { kind: "remove", paths: ["properties.colour"] } }];
  await collector.api("PATCH", `/destinations/${destinationId}`, { filters });
  await collector.kill();
  answer();
  await collector.start();
  await collector.outcome("m3", "delivered");
  expect(requests.every(({ isVerified }) => isVerified)).toBe(true);
  const [first, again, next] = requests;
  expect(requests).toHaveLength(3);
  expect(again).toEqual(first);
  const idsIn = ({ body }: Request) =>
    (JSON.parse(body) as { messages: { messageId: string }[] }).messages.map(({ messageId }) => messageId);
  expect(requests.map(idsIn)).toEqual([["m0", "m1", "m2"], ["m0", "m1", "m2"], ["m3"]]);
  expect(next?.id).not.toBe(first?.id);
  expect(first?.body).toContain("colour");
  expect(next?.body).not.toContain("colour");
  // Its helper verifies each batch once, and hands on its messages.
  expect(got.map(({ id }) => id)).toEqual(["m0", "m1", "m2", "m0", "m1", "m2", "m3"]);
}, 90_000);
