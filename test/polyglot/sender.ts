import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Far from UTC, so that a client that confuses local time and UTC is seen. */
const TIME_ZONE = "Asia/Kolkata";

/** A program of `test/polyglot` with one client library. It holds several clients of it, each with a name. */
export interface Sender {
  command(...words: readonly (string | number)[]): void;
  /** What the client reported as not sent, or refused to take. */
  failures(name: string): readonly string[];
  isClosed(name: string): boolean;
  /** Ends the program, as an application ends that has closed its clients. */
  end(): Promise<void>;
  kill(): void;
}

export function startSender(command: readonly string[]): Sender {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd: join(import.meta.dirname),
    env: { ...process.env, TZ: TIME_ZONE },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const failures = new Map<string, string[]>();
  const closed = new Set<string>();
  createInterface(child.stdout).on("line", (line) => {
    const [word = "", name = "", ...rest] = line.split(" ");
    if (word === "closed") closed.add(name);
    if (word === "failed") failures.set(name, [...(failures.get(name) ?? []), rest.join(" ")]);
  });
  const exit = once(child, "exit");
  return {
    command: (...words) => void child.stdin.write(`${words.join(" ")}\n`),
    failures: (name) => failures.get(name) ?? [],
    isClosed: (name) => closed.has(name),
    async end() {
      child.stdin.end();
      await exit;
    },
    kill: () => void child.kill("SIGKILL"),
  };
}
