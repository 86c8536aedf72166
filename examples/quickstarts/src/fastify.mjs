// A Fastify application: `node src/fastify.mjs`
import { Analytics } from "@sluice/node";
import Fastify from "fastify";

// One client for the process. It reads SLUICE_WRITE_KEY and SLUICE_URL.
const analytics = new Analytics();
const app = Fastify();

app.post("/signups", async (request, reply) => {
  const { userId, plan } = request.body;
  analytics.track({ userId, event: "Signed Up", properties: { plan } });
  return reply.code(201).send({ userId });
});

// Runs after open requests are finished, and sends what is queued.
app.addHook("onClose", () => analytics.close());

const stop = () => app.close();
process.once("SIGTERM", stop).once("SIGINT", stop);

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" }));
