import { type AnyValueMap, SeverityNumber } from "@opentelemetry/api-logs";
import { OTLPLogExporter as JsonExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import type { LogRecord } from "@sluice/collector";
import { boundedQueue } from "./bounded-queue.js";
import type { SignalSettings } from "./settings.js";

const SEVERITIES = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
} as const;

export interface LogRecorder {
  record(line: LogRecord): void;
  close(): Promise<void>;
}

/** Exports log lines in batches. The collector's logger has hidden secrets before. */
export function logRecorder(
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
