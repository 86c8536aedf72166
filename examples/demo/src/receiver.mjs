import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { verify } from "@sluice/webhooks";

/**
 * Starts a webhook receiver that checks everything: every signature in two ways, and every body against the original, including the order
 * of its keys.
 */
export async function startReceiver(secret) {
  const receiver = {
    /** messageId → the call that was sent, and when. @type {Map<string, { kind: string, call: Record<string, any>, atMs: number }>} */
    expected: new Map(),
    /** messageId → milliseconds from the call to the first receipt. @type {Map<string, number>} */
    received: new Map(),
    /** Messages whose signature was valid in both ways. @type {Set<string>} */
    verified: new Set(),
    duplicates: 0,
    /** Descriptions of everything that was wrong. @type {string[]} */
    differences: [],
  };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      take(receiver, secret, Buffer.concat(chunks), request.headers);
      response.writeHead(200).end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...receiver,
    get duplicates() {
      return receiver.duplicates;
    },
    url: `http://127.0.0.1:${server.address().port}/hook`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function take(receiver, secret, rawBody, headers) {
  const signature = headers["x-signature"];
  const body = JSON.parse(rawBody.toString("utf8"));
  const messageId = headers["x-message-id"] ?? body.messageId;
  const sent = receiver.expected.get(messageId);
  const differ = (what) => receiver.differences.push(`${messageId}: ${what}`);
  if (sent === undefined) return differ("was never sent");

  // The signature must match the raw body, and also the body after JSON.parse and JSON.stringify, which many receivers use.
  const reserialized = createHmac("sha1", secret).update(JSON.stringify(body), "utf8").digest("hex");
  if (!verify(rawBody, signature, secret)) differ("its signature does not verify");
  else if (reserialized !== signature) differ("its signature does not verify over JSON.stringify(body)");
  else receiver.verified.add(messageId);

  const { version, type, timestamp, messageId: ownId, ...fields } = body;
  if (version !== 1) differ(`version is ${version}`);
  if (type !== sent.kind) differ(`type is ${type}`);
  if (ownId !== messageId) differ("the id in the body is different");
  if (new Date(timestamp).toISOString() !== timestamp) differ(`timestamp is ${timestamp}`);
  // The SDK adds fields, but everything that was passed to it must arrive unchanged.
  for (const [field, value] of Object.entries(sent.call)) {
    const asSent = JSON.stringify(value);
    if (!isDeepStrictEqual(fields[field], JSON.parse(asSent)) || JSON.stringify(fields[field]) !== asSent)
      differ(`${field} is not what was sent`);
  }
  if (receiver.received.has(messageId)) receiver.duplicates += 1;
  else receiver.received.set(messageId, performance.now() - sent.atMs);
}
