/** Sends batches of messages to a collector from this process, over connections that stay open. */
import { Pool } from "undici";
import { makeBatch } from "./delivery-message.mjs";

export function deliveryClient(url, writeKey, connections = 4) {
  const pool = new Pool(url, { connections });
  const headers = {
    authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
    "content-type": "application/json",
  };
  let sent = 0;
  return {
    /** Resolves with the status of the response. */
    async send(count, sentAtMs) {
      const batch = makeBatch(sent, count, sentAtMs);
      sent += count;
      const { statusCode, body } = await pool.request({
        path: "/v1/batch",
        method: "POST",
        headers,
        body: JSON.stringify({ batch }),
      });
      await body.dump();
      return statusCode;
    },
    close: () => pool.close(),
  };
}
