import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Starts `server.mjs` in its own process. */
export async function forkServer(env = {}) {
  const child = fork(fileURLToPath(new URL("server.mjs", import.meta.url)), {
    env: { ...process.env, ...env },
  });
  const next = () => new Promise((resolve) => child.once("message", resolve));
  const { port } = await next();
  return {
    url: `http://127.0.0.1:${port}`,
    totals: () => {
      const answer = next();
      child.send("totals");
      return answer;
    },
    close: () => child.disconnect(),
  };
}
