// A Worker that receives webhooks: one with each kind of signature, and one with a wrong secret.
import { sign, signStandard, webHandler } from "@sluice/webhooks";

const received = [];
const handler = webHandler({
  secret: "secret",
  onMessage: (_message, { messageId }) => received.push(messageId),
  onRejected: () => {},
});

export default {
  async fetch() {
    const body = JSON.stringify({ type: "track", event: "Signed Up", userId: "u1", messageId: "m1" });
    const statuses = [];
    for (const headers of [
      { "x-message-id": "m1", "x-signature": sign(body, "secret") },
      signStandard(body, "secret", { id: "m1", timestampMs: Date.now() }),
      { "x-message-id": "m1", "x-signature": sign(body, "another") },
    ]) {
      const response = await handler(new Request("https://a.example/", { method: "POST", body, headers }));
      statuses.push(response.status);
    }
    return Response.json({ statuses, received });
  },
};
