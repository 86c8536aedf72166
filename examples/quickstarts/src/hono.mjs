// A Hono application on Node.js: `node src/hono.mjs`
import { serve } from "@hono/node-server";
import { Analytics } from "@sluice/node";
import { Hono } from "hono";

// One client for the process. It reads SLUICE_WRITE_KEY and SLUICE_URL.
const analytics = new Analytics();
const app = new Hono();

app.post("/signups", async (context) => {
  const { userId, plan } = await context.req.json();
  analytics.track({ userId, event: "Signed Up", properties: { plan } });
  return context.json({ userId }, 201);
});

const options = { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" };
const server = serve(options, ({ port }) => console.log(`http://127.0.0.1:${port}`));

// Finishes open requests, and then sends what is queued.
const stop = () => server.close(() => analytics.close());
process.once("SIGTERM", stop).once("SIGINT", stop);
