import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import type { LogRecord, Tracing } from "@sluice/collector";
import { systemClock } from "@sluice/resilience";
import { logRecorder } from "./log-recorder.js";
import { rootSampler, startsTraces } from "./sampler.js";
import { type Env, readTelemetrySettings, type Signal } from "./settings.js";
import { spanRecorder } from "./span-recorder.js";

export interface TelemetryOptions {
  /** The base URL of an OTLP/HTTP receiver, such as `http://127.0.0.1:4318`. Default: the `OTEL_EXPORTER_OTLP_…` variables. */
  readonly endpoint?: string | undefined;
  /** The collector's version. */
  readonly version: string;
  /** Default: `process.env`. The exporters read addresses, headers and certificates from `process.env` itself. */
  readonly env?: Env;
}

export interface Telemetry {
  /** For `startCollector`. */
  readonly tracing: Tracing;
  /** For `createLogger`. */
  log(record: LogRecord): void;
  /** Sends what is queued, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts the export of traces and logs. Throws a `TelemetryConfigError`. */
export function startTelemetry({ endpoint, version, env = process.env }: TelemetryOptions): Telemetry {
  const settings = readTelemetrySettings(endpoint, env);
  const root = rootSampler(settings);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "sluice", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const listeners: ((signal: Signal, count: number) => void)[] = [];
  const dropped = (signal: Signal) => (count: number) => {
    for (const listener of listeners) listener(signal, count);
  };
  const { traces, logs } = settings.signals;
  const spans = traces && spanRecorder(traces, { resource, root, version }, dropped("traces"));
  const lines = logs && logRecorder(logs, { resource, version }, dropped("logs"));
  return {
    tracing: {
      exportsSpans: spans !== undefined,
      samples: (traceId) => spans?.samples(traceId) ?? false,
      startsTraces: spans !== undefined && startsTraces(root),
      record: (span) => spans?.record(span),
      onDropped: (listener) => void listeners.push(listener),
    },
    log: (record) => lines?.record(record),
    async close(graceMs) {
      const grace = Promise.withResolvers<void>();
      const cancel = systemClock.after(graceMs, grace.resolve);
      const closing = Promise.allSettled([spans?.close(), lines?.close()]);
      await Promise.race([closing, grace.promise]);
      cancel();
    },
  };
}
