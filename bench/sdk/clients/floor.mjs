/**
 * The minimum for a client of this protocol: JSON with id and time at the call, joined strings, one keep-alive POST of up to 100
 * messages at a time, retries. No checks, no limits, no options, no reports.
 */
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const compress = promisify(gzip);

export function open(url, { gzip: compressed = false } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = {
    authorization: `Basic ${Buffer.from("bench:").toString("base64")}`,
    "content-type": "application/json",
    "user-agent": "sluice-node/0.1.0",
    ...(compressed && { "content-encoding": "gzip" }),
  };
  const queue = [];
  let sending;
  let timer;

  const post = (body) =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${url}/v1/batch`, {
        method: "POST",
        agent,
        headers: { ...headers, "content-length": body.length },
      });
      outgoing.on("response", (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode));
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });

  const send = async () => {
    while (queue.length > 0) {
      const batch = queue.splice(0, 100);
      for (let attempt = 0; attempt < 10; attempt++) {
        const text = Buffer.from(`{"batch":[${batch.join(",")}],"sentAt":"${new Date().toISOString()}"}`);
        const status = await post(compressed ? await compress(text) : text).catch(() => -1);
        if (status === 200) break;
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      }
    }
    sending = undefined;
  };

  const start = () => {
    clearTimeout(timer);
    timer = undefined;
    sending ??= new Promise((resolve) => setImmediate(resolve)).then(send);
    return sending;
  };

  return {
    track(call) {
      const message = {
        type: "track",
        messageId: randomUUID(),
        originalTimestamp: new Date().toISOString(),
        ...call,
      };
      queue.push(JSON.stringify(message));
      if (queue.length >= 100) start();
      else timer ??= setTimeout(start, 5_000);
    },
    async close() {
      while (queue.length > 0 || sending) await start();
      agent.destroy();
    },
  };
}
