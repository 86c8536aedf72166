import { backgroundClock, fetchTransport, type Platform } from "@sluice/core";
import { version } from "../../package.json";
import { contextStorageSource } from "../context-storage.js";
import { debugIsOn } from "../debug-env.js";
import { uuidSource } from "../message-id.js";
import { undiciTransportWith } from "../undici-transport.js";

/** The longest delay of `setInterval`. The timer only keeps the process alive. */
const LONGEST_INTERVAL_MS = 2 ** 31 - 1;

/** The platform of Node.js, Bun and Deno. */
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
    defaultTransport: (maxInFlight, warn) =>
      isNode() ? undiciTransportWith({ connections: maxInFlight }, warn) : fetchTransport(),
    newContextStorage: contextStorageSource(),
    warn: (line) => console.error(line),
    debug: debugIsOn(environment.DEBUG) ? (line) => console.error(`  analytics ${line}`) : undefined,
    library: { name: "@sluice/node", version },
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
