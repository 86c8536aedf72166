import { AsyncLocalStorage } from "node:async_hooks";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import {
  type AnalyticsOptions,
  type CallContext,
  createEngine,
  type Engine,
  type ErrorDetail,
  type Platform,
  resolveOptions,
  type Spool,
} from "../../src/index.js";
import { type ScriptedTransport, scriptedTransport } from "./scripted-transport.js";

export interface TestEngine {
  readonly engine: Engine;
  readonly clock: ManualClock;
  readonly transport: ScriptedTransport;
  /** The calls of `onError`, in order. */
  readonly errors: readonly { status: number; message: string; detail: ErrorDetail }[];
  /** Calls of `Platform.hold` that were not released. */
  readonly holds: () => number;
  readonly warnings: readonly string[];
  /** Tracks `count` messages. Their ids are `m1`, `m2`, … over the whole test. */
  track(count?: number): void;
  /** Runs everything that is due now, without moving the clock. */
  runDue(): Promise<void>;
}

/** An engine with a manual clock and a scripted transport. */
export function testEngine(
  options: Partial<AnalyticsOptions> = {},
  {
    script,
    spool,
    clock = manualClock(),
    isInRequest,
  }: {
    script?: Parameters<typeof scriptedTransport>[0];
    spool?: Spool;
    clock?: ManualClock;
    isInRequest?: () => boolean;
  } = {},
): TestEngine {
  const transport = scriptedTransport(script);
  const errors: { status: number; message: string; detail: ErrorDetail }[] = [];
  const warnings: string[] = [];
  let holds = 0;
  let ids = 0;
  const platform: Platform = {
    clock,
    defer: (task) => {
      setImmediate(task);
    },
    hold: () => {
      holds += 1;
      return () => {
        holds -= 1;
      };
    },
    newMessageId: () => `id-${++ids}`,
    gzip: async () => {
      throw new Error("This runtime has no gzip");
    },
    defaultTransport: () => transport,
    newContextStorage: () => {
      const storage = new AsyncLocalStorage<CallContext>();
      return { get: () => storage.getStore(), run: (context, work) => storage.run(context, work) };
    },
    warn: (line) => {
      warnings.push(line);
    },
    isInRequest,
    userAgent: "test/1",
  };
  const resolved = resolveOptions({
    writeKey: "key",
    onError: (status, message, detail) => {
      errors.push({ status, message, detail });
    },
    ...options,
  });
  const engine = createEngine(resolved, platform, spool);
  let tracked = 0;
  return {
    engine,
    clock,
    transport,
    errors,
    warnings,
    holds: () => holds,
    track: (count = 1) => {
      for (let i = 0; i < count; i++) {
        tracked += 1;
        engine.take("track", { userId: "u", event: `E${tracked}`, messageId: `m${tracked}` });
      }
    },
    runDue: async () => {
      for (let turn = 0; turn < 5; turn++) await clock.advance(0);
    },
  };
}

/** `m1` … `m<n>`, or from another first number. */
export function ids(count: number, first = 1): string[] {
  return Array.from({ length: count }, (_, i) => `m${first + i}`);
}
