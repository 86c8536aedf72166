import { fork } from "node:child_process";
import { once } from "node:events";

/** Forks a script that takes messages, with `env` added to the environment. `ask` resolves with its next message. */
export function forked(url, args = [], execArgv = [], env = {}) {
  const child = fork(url, args, {
    execArgv,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const first = once(child, "message");
  return {
    pid: child.pid,
    /** The message it sends when it is ready. */
    ready: first.then(([message]) => message),
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
