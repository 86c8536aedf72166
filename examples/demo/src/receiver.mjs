import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { verify } from "@sluice/webhooks";

/**
 * A webhook receiver that trusts nothing: it checks every signature in two ways and compares every body with what was
 * sent, to the order of its keys.
 */
export async function startReceiver(secret) {
  const receiver = {
    /** messageId → what was sent under it, and when. @type {Map<string, { kind: string, call: Record<string, any>, atMs: number }>} */
    expected: new Map(),
    /** messageId → milliseconds from the call to the first receipt. @type {Map<string, number>} */
    received: new Map(),
    /** Messages whose signature held in both ways. @type {Set<string>} */
    verified: new Set(),
    duplicates: 0,
    /** What was wrong with a request. @type {string[]} */
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

  // As @sluice/webhooks does it, and as the interface's own receivers do: over the body parsed and written again.
  const recipe = createHmac("sha1", secret).update(JSON.stringify(body), "utf8").digest("hex");
  if (!verify(rawBody, signature, secret)) differ("its signature does not verify");
  else if (recipe !== signature) differ("its signature does not verify over JSON.stringify(body)");
  else receiver.verified.add(messageId);

  const { version, type, timestamp, messageId: ownId, ...fields } = body;
  if (version !== 1) differ(`version is ${version}`);
  if (type !== sent.kind) differ(`type is ${type}`);
  if (ownId !== messageId) differ("the id in the body is another one");
  if (new Date(timestamp).toISOString() !== timestamp) differ(`timestamp is ${timestamp}`);
  // Fields that the SDK adds beside what it was given are its own; everything given must come as it was.
  for (const [field, value] of Object.entries(sent.call)) {
    const asSent = JSON.stringify(value);
    if (!isDeepStrictEqual(fields[field], JSON.parse(asSent)) || JSON.stringify(fields[field]) !== asSent)
      differ(`${field} is not what was sent`);
  }
  if (receiver.received.has(messageId)) receiver.duplicates += 1;
  else receiver.received.set(messageId, performance.now() - sent.atMs);
}
