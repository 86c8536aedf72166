import { backgroundClock, fetchTransport, type Platform } from "@sluice/core";
import { version } from "../package.json";
import { debugIsOn } from "./debug-env.js";
import { uuidSource } from "./message-id.js";
import { undiciTransport } from "./undici-transport.js";

/** The longest delay of `setInterval`. The timer only keeps the process alive. */
const LONGEST_INTERVAL_MS = 2 ** 31 - 1;

/** The platform of Node.js, Bun, Deno and edge runtimes. It uses features of Node.js only if they exist. */
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
    newMessageId: uuidSource(),
    gzip,
    // undici is made for Node.js. On other runtimes their own fetch works better.
    defaultTransport: (maxInFlight) =>
      isNode() ? undiciTransport({ connections: maxInFlight }) : fetchTransport(),
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

function isNode(): boolean {
  if (typeof process === "undefined" || "Deno" in globalThis) return false;
  return process.versions?.node !== undefined && process.versions.bun === undefined;
}

const VARIABLES = ["DEBUG", "SLUICE_OREGON_URL", "SLUICE_DUBLIN_URL"];

/** The environment variables that the SDK reads, if the runtime has them and allows it: Deno needs a permission. */
export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const name of VARIABLES) {
    try {
      found[name] = process.env[name];
    } catch {
      // The runtime has no environment variables, or does not allow reading them.
    }
  }
  return found;
}
