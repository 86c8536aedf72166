import type { TrackingPlan } from "@sluice/core";
import { backgroundClock, type Clock, ConfigError, fetchTransport, type Platform } from "@sluice/core";
import { version } from "../../package.json";
import { AnalyticsClient, type NoPlan } from "../analytics-client.js";
import { contextStorageSource } from "../context-storage.js";
import { debugIsOn } from "../debug-env.js";
import { uuidSource } from "../message-id.js";
import type { NodeAnalyticsOptions } from "../options.js";
import type { Runtime } from "../platform/runtime.js";

/** The platform of edge runtimes, workers and browsers. It uses web APIs only, and nothing of it at import or construction. */
function edgePlatform(environment: Readonly<Record<string, string | undefined>>): Platform {
  return {
    clock: { ...backgroundClock, after },
    defer: (task) => {
      after(0, task);
    },
    hold: () => () => {},
    newMessageId: uuidSource(fillRandomly),
    gzip,
    defaultTransport: () => fetchTransport(),
    newContextStorage: contextStorageSource(),
    warn: (line) => console.error(line),
    debug: debugIsOn(environment.DEBUG) ? (line) => console.error(`  analytics ${line}`) : undefined,
    isInRequest: endsWithRequests() ? isInRequest : undefined,
    library: { name: "@sluice/node", version },
    userAgent: `sluice-edge/${version}`,
  };
}

/** Whether timers and requests end with the incoming request that started them: on Cloudflare Workers and Vercel's edge runtime. */
function endsWithRequests(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers" || "EdgeRuntime" in globalThis;
}

/** Cloudflare Workers refuse timers outside of a request. */
function isInRequest(): boolean {
  try {
    const cancel = backgroundClock.after(0, () => {});
    cancel();
    return true;
  } catch {
    return false;
  }
}

/** Does nothing where timers are refused: no request is being handled, so nothing waits for the timer. */
const after: Clock["after"] = (ms, callback) => {
  try {
    return backgroundClock.after(ms, callback);
  } catch {
    return () => {};
  }
};

/** Cloudflare Workers refuse random bytes outside of a request. A call there must not throw. */
function fillRandomly(bytes: Uint8Array<ArrayBuffer>): void {
  try {
    crypto.getRandomValues(bytes);
  } catch {
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(backgroundClock.random() * 256);
  }
}

async function gzip(text: string): Promise<Uint8Array> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}

/** Runtimes without files, signals and the end of a process. */
const edgeRuntime: Runtime = {
  platform: edgePlatform,
  checkOptions: ({ spool, flushOnSignals }) => {
    if (spool) throw new ConfigError("spool", "needs files, which this runtime does not have", spool);
    if (flushOnSignals) {
      throw new ConfigError(
        "flushOnSignals",
        "needs signals, which this runtime does not have",
        flushOnSignals,
      );
    }
  },
  watchEnd: () => () => {},
};

/** The client for edge runtimes, workers and browsers. */
export class Analytics<Plan extends TrackingPlan = NoPlan> extends AnalyticsClient<Plan> {
  /** @throws ConfigError naming option, rule and value. */
  constructor(options: NodeAnalyticsOptions = {}) {
    super(options, edgeRuntime);
  }
}
