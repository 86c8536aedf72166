// Shares a spool between processes. Prints which messages arrived while one process hung, and after it was killed.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Analytics } from "@sluice/node";

const [, program, directory, host, event] = process.argv;
if (directory === undefined) await share();
else {
  // The role of a process: makes a call, and closes.
  const analytics = new Analytics({ writeKey: "key", host, maxRetries: 0, spool: { directory } });
  analytics.track({ userId: "u1", event });
  await analytics.close({ timeoutMs: 30_000 });
}

async function share() {
  const answers = { kind: "refuse", requests: 0, hung: () => {} };
  const arrived = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const names = JSON.parse(Buffer.concat(chunks)).batch.map((message) => message.event);
      if (answers.kind === "hang") return answers.hung();
      if (answers.kind === "refuse") return response.writeHead(503).end();
      arrived.push(...names);
      response.end(JSON.stringify({ success: true }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  const spool = mkdtempSync(join(tmpdir(), "sluice-spool-"));
  const start = (name) => fork(program, [spool, url, name]);

  await once(start("left"), "exit");
  answers.kind = "hang";
  const hangs = new Promise((resolve) => {
    answers.hung = resolve;
  });
  const holder = start("held");
  await hangs;
  answers.kind = "accept";
  await once(start("second"), "exit");
  const before = arrived.splice(0).sort();
  holder.kill("SIGKILL");
  await once(holder, "exit");
  await once(start("third"), "exit");
  console.log(JSON.stringify({ before, after: arrived.sort() }));
  server.closeAllConnections();
  server.close();
  rmSync(spool, { recursive: true });
}
