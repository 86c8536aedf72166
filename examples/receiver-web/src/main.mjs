// Serves the route of `route.mjs` without a framework, so that you can try it.
//
//   SHARED_SECRET=… node src/main.mjs
import { createServer } from "node:http";
import { POST } from "./route.mjs";

const server = createServer(async (request, response) => {
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  const answer = await POST(
    new Request(`http://127.0.0.1${request.url}`, {
      method: request.method,
      headers: request.headers,
      ...(hasBody ? { body: request, duplex: "half" } : {}),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
server.listen(Number(process.env.PORT ?? "8800"), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/hook`);
});
