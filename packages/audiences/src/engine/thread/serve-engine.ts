import type { MessagePort } from "node:worker_threads";
import { type ProfileStore, StoreError } from "@sluice/event-log";
import { serve } from "@sluice/resilience/node";
import { AudienceEngine } from "../engine.js";
import { ANSWERED_IN_JSON, type DamageNotice, type EngineThreadData, type Failure } from "./calls.js";

interface ServedStore {
  readonly store: ProfileStore;
  /** Called when a call fails with an error without a code, before the answer. Default: nothing. */
  readonly onUnexpected?: () => Promise<unknown>;
}

/** Opens the engine and answers the calls that come over `port`, until it is closed. `open` is given a function that sends a notice. */
export function serveEngine(
  port: MessagePort,
  { directory: _, suppressed, joins, ...options }: EngineThreadData,
  open: (notify: (notice: DamageNotice) => void) => ServedStore,
): void {
  // Notices may be sent while the store is opened, so the server comes first. Calls arrive in a later turn of the event loop.
  const server = serve<AudienceEngine, Failure, DamageNotice>(
    port,
    answeringInJson(() => engine),
    {
      lastMethod: "close",
      async toFailure(error) {
        if (!(error instanceof StoreError)) await served.onUnexpected?.().catch(() => {});
        return failureOf(error);
      },
    },
  );
  const served = open((notice) => server.notify(notice));
  const engine = new AudienceEngine(served.store, options);
  if (suppressed !== undefined) engine.suppress(...suppressed);
  if (joins !== undefined) engine.allowJoins(...joins);
}

/** The engine, with the results of `ANSWERED_IN_JSON` as JSON. */
function answeringInJson(engineNow: () => AudienceEngine): AudienceEngine {
  return new Proxy({} as AudienceEngine, {
    get(_, name) {
      const engine = engineNow();
      const method = (Reflect.get(engine, name) as (...args: unknown[]) => unknown).bind(engine);
      if (typeof name !== "string" || !ANSWERED_IN_JSON.has(name)) return method;
      return async (...args: unknown[]) => {
        const result = await method(...args);
        return result === undefined ? undefined : JSON.stringify(result);
      };
    },
  });
}

function failureOf(error: unknown): Failure {
  if (error instanceof StoreError)
    return { code: error.code, ...(error.detail === undefined ? {} : { message: error.detail }) };
  return { message: error instanceof Error ? error.message : String(error) };
}
