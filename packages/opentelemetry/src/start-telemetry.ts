import { type AnyValueMap, SeverityNumber } from "@opentelemetry/api-logs";
import { OTLPLogExporter as JsonExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import type { LogRecord, Tracing } from "@sluice/collector";
import { systemClock } from "@sluice/resilience";
import {
  type Env,
  readTelemetrySettings,
  rootSampler,
  rootShare,
  type Signal,
  type SignalSettings,
} from "./settings.js";
import { boundedQueue, spanRecorder } from "./span-recorder.js";

const SEVERITIES = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
} as const;

interface LogRecorder {
  record(line: LogRecord): void;
  close(): Promise<void>;
}

/** Exports log lines in batches. The collector's logger has hidden secrets before. */
function logRecorder(
  settings: SignalSettings,
  { resource, version }: { readonly resource: Resource; readonly version: string },
  onDropped: (count: number) => void,
): LogRecorder {
  const Exporter = settings.protocol === "http/json" ? JsonExporter : ProtobufExporter;
  const { url, protocol: _, ...batching } = settings;
  const queue = boundedQueue(settings.maxQueueSize, onDropped);
  const exporter = queue.watch(new Exporter(url === undefined ? {} : { url }));
  const provider = new LoggerProvider({
    resource,
    processors: [new BatchLogRecordProcessor({ exporter, ...batching })],
  });
  const logger = provider.getLogger("@sluice/collector", version);
  return {
    record({ time, level, msg, fields }) {
      if (!queue.admit()) return;
      logger.emit({
        timestamp: time,
        severityNumber: SEVERITIES[level],
        severityText: level,
        body: msg,
        // A copy through JSON is what the other outputs write, too.
        attributes: JSON.parse(JSON.stringify(fields)) as AnyValueMap,
      });
    },
    close: () => provider.shutdown(),
  };
}

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
  const share = rootShare(settings);
  const root = rootSampler(share);
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
      // A trace may begin at the collector: its messages then get the ids of one.
      startsTraces: spans !== undefined && share > 0,
      share,
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
