import { backgroundClock, fetchTransport, type Platform } from "@sluice/core";
import { version } from "../package.json";
import { debugIsOn } from "./debug-env.js";
import { uuidSource } from "./message-id.js";
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
    newMessageId: uuidSource(),
    gzip,
    // undici is made for Node.js; the others have a fetch of their own that is better there.
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

/** The environment variables that the SDK reads, as far as the runtime has any and lets us: Deno asks for a permission. */
export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const name of VARIABLES) {
    try {
      found[name] = process.env[name];
    } catch {
      // Not there, or not for us.
    }
  }
  return found;
}
