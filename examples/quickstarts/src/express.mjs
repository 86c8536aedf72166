// An Express application: `node src/express.mjs`
import { Analytics } from "@sluice/node";
import express from "express";

// One client for the process. It reads SLUICE_WRITE_KEY and SLUICE_URL.
const analytics = new Analytics();
const app = express();

app.post("/signups", express.json(), (request, response) => {
  const { userId, plan } = request.body;
  analytics.track({ userId, event: "Signed Up", properties: { plan } });
  response.status(201).json({ userId });
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});

// Finishes open requests, and then sends what is queued.
const stop = () => server.close(() => analytics.close());
process.once("SIGTERM", stop).once("SIGINT", stop);
