// Takes objects and forgets them.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request.resume().once("end", () => response.end());
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
