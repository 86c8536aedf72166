import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Ledger } from "../ledger.ts";
import { readToEnd } from "./lines-of.ts";

const PROGRAM = fileURLToPath(new URL("./sdk-load.mjs", import.meta.url));

export interface SdkStart {
  readonly run: string;
  readonly host: string;
  readonly writeKey: string;
  readonly perSecond: number;
  readonly users: number;
  readonly requestTimeoutMs: number;
  readonly maxRetries?: number;
  readonly spool?: { readonly directory: string };
}

/** An application with the built SDK, in a process of its own. It sends until it is stopped. */
export interface SdkProcess {
  readonly run: string;
  /** Stops tracking, sends what is queued, and closes. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
}

export function startSdk(start: SdkStart, ledger: Ledger): SdkProcess {
  const run = ledger.open(start.run, start.users);
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(start)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => {});
  const ended = readToEnd(child, (line) => {
    const [kind, first = "", ...ids] = line.split(" ");
    if (kind === "t") run.tracked = Number(first);
    else if (kind === "d") for (const id of [first, ...ids]) ledger.acknowledged.add(id);
    else if (kind === "l") for (const id of ids) ledger.reportedLost.set(id, first);
    else if (kind === "s") run.keptBelow = Number(first);
    else if (kind === "e") run.state = "closed";
  });
  return {
    run: start.run,
    async stop() {
      child.stdin.write("stop\n");
      const how = await ended;
      if (run.state !== "closed") throw new Error(`The SDK's process ended with ${how} instead of closing`);
    },
    async kill9() {
      child.kill("SIGKILL");
      await ended;
      if (run.state === "running") run.state = "killed";
    },
  };
}
