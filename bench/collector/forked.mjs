import { fork } from "node:child_process";
import { once } from "node:events";

/** Forks a script that is asked by messages; `ask` resolves with its next answer. */
export function forked(url, args = []) {
  const child = fork(url, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  return {
    tell: (message) => child.send(message),
    async ask(message) {
      const answer = once(child, "message");
      child.send(message);
      return (await answer)[0];
    },
    async end() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}
