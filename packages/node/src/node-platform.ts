import { backgroundClock, type Platform } from "@sluice/core";
import { version } from "../package.json";
import { debugIsOn } from "./debug-env.js";
import { undiciTransport } from "./undici-transport.js";

/** `setInterval` with its longest delay: it does nothing but keep the process running. */
const LONGEST_INTERVAL_MS = 2 ** 31 - 1;

/** Node.js, Bun, Deno and, with a fetch transport, edge runtimes: what is particular to Node.js is looked for, not assumed. */
export function nodePlatform(environment: Readonly<Record<string, string | undefined>>): Platform {
  const defer = typeof setImmediate === "function" ? setImmediate : (task: () => void) => setTimeout(task, 0);
  return {
    clock: backgroundClock,
    defer: (task) => {
      defer(task);
    },
    hold: () => {
      const timer = setInterval(() => {}, LONGEST_INTERVAL_MS);
      return () => clearInterval(timer);
    },
    newMessageId: () => crypto.randomUUID(),
    gzip,
    defaultTransport: (maxInFlight) => undiciTransport({ connections: maxInFlight }),
    warn: (line) => console.error(line),
    debug: debugIsOn(environment.DEBUG) ? (line) => console.error(`  analytics ${line}`) : undefined,
    userAgent: `sluice-node/${version}`,
  };
}

async function gzip(text: string): Promise<Uint8Array> {
  const { gzip: compress } = await import("node:zlib");
  return new Promise((resolve, reject) => {
    compress(text, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });
}

/** The environment variables, where the runtime has any. */
export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  return typeof process === "undefined" ? {} : (process.env ?? {});
}
