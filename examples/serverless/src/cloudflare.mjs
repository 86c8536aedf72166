// A Worker: `wrangler deploy src/cloudflare.mjs`. Set SLUICE_WRITE_KEY and SLUICE_URL as variables of the Worker.
import { env, waitUntil } from "cloudflare:workers";
import { Analytics } from "@sluice/node";

// Each call sends its message after the response, and keeps the request alive until then.
const analytics = new Analytics({
  writeKey: env.SLUICE_WRITE_KEY,
  host: env.SLUICE_URL,
  waitUntil,
});

export default {
  async fetch(request) {
    const { userId, total } = await request.json();
    analytics.track({ userId, event: "Order Completed", properties: { total } });
    return Response.json({ ok: true });
  },
};
