import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { readToEnd } from "./lines-of.ts";

const SLUICE = createRequire(import.meta.url).resolve("sluice/bin/sluice.cjs");
const IN_MEMORY = fileURLToPath(new URL("./memory-collector.mjs", import.meta.url));

export type StoreKind = "embedded" | "memory";

export interface CollectorStart {
  readonly store: StoreKind;
  readonly dataFolder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command with arguments that runs the collector, such as strace. */
  readonly under?: readonly string[];
}

/** A built collector in a process of its own, started as a user starts it. */
export interface CollectorProcess {
  readonly url: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
  /** Signals the collector itself, not the command that it runs under. */
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<string>;
  /** The end of what it logged. */
  log(): string;
}

interface Ready {
  readonly url: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
}

/** `onSpawn` gets a function that kills the process, also before it is ready. */
export async function startCollector(
  { store, dataFolder, env = {}, under = [] }: CollectorStart,
  onSpawn: (kill: () => void) => void = () => {},
): Promise<CollectorProcess> {
  const program = store === "embedded" ? [SLUICE, "dev", "--json", "--port", "0"] : [IN_MEMORY];
  const [command = "", ...args] = [...under, process.execPath, ...program, "--data-dir", dataFolder];
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env, NODE_ENV: "production" },
  });
  let log = "";
  child.stderr.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-8_000);
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const pid = under.length === 0 ? child.pid : childOf(child.pid);
    if (pid !== undefined) process.kill(pid, name);
  };
  onSpawn(() => signal("SIGKILL"));
  let ended: Promise<string> | undefined;
  const ready = await new Promise<Ready>((resolve, reject) => {
    ended = readToEnd(child, (line) => {
      if (line.startsWith("{")) resolve(JSON.parse(line));
    });
    void ended.then((how) =>
      reject(new Error(`The collector ended with ${how} before it was ready:\n${log}`)),
    );
  });
  return { ...ready, signal, ended: ended as Promise<string>, log: () => log };
}

/** The process that a command such as strace runs. */
function childOf(pid: number | undefined): number | undefined {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  return first === undefined || first === "" ? undefined : Number(first);
}
