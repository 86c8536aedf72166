/** Milliseconds from the last call of a script, which does not close the client, to the end of its process. All messages must arrive. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { forkServer } from "./fork-server.mjs";

const server = await forkServer();
const source = `
  import { Analytics } from "@sluice/node";
  import { trackCall } from "./message.mjs";
  const analytics = new Analytics({ writeKey: "bench", host: ${JSON.stringify(server.url)} });
  for (let i = 0; i < 10_000; i++) analytics.track(trackCall(i));
  process.stdout.write(String(Date.now()));`;
const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
  cwd: fileURLToPath(new URL(".", import.meta.url)),
  stdio: ["ignore", "pipe", "inherit"],
});
let lastCall = "";
child.stdout.on("data", (chunk) => {
  lastCall += chunk;
});
await new Promise((resolve) => child.on("exit", resolve));
const exitMs = Date.now() - Number(lastCall);
const { messages } = await server.totals();
server.close();
console.log(JSON.stringify({ exitMs, messages }));
