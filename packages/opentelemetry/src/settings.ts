import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";

export type Env = Readonly<Record<string, string | undefined>>;
export type Signal = "traces" | "logs";

/** What the collector exports, and how. From `--otlp-endpoint` and the `OTEL_…` variables. */
interface TelemetrySettings {
  /** Signals that are not exported are absent. */
  readonly signals: Readonly<Partial<Record<Signal, SignalSettings>>>;
  readonly sampler: string | undefined;
  readonly samplerArg: string | undefined;
}

export interface SignalSettings {
  /** Undefined: the exporter reads the `OTEL_EXPORTER_OTLP_…` variables itself. */
  readonly url: string | undefined;
  readonly protocol: "http/protobuf" | "http/json";
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
}

/** The configuration cannot be used. The message says what to change. */
export class TelemetryConfigError extends Error {
  override readonly name = "TelemetryConfigError";
}

const PREFIXES = { traces: "OTEL_BSP", logs: "OTEL_BLRP" } as const;
const DELAY_MS = { traces: 5_000, logs: 1_000 } as const;

/** `endpoint`: the base URL of an OTLP/HTTP receiver. It wins over the environment. */
export function readTelemetrySettings(endpoint: string | undefined, env: Env): TelemetrySettings {
  const signals: Partial<Record<Signal, SignalSettings>> = {};
  for (const signal of ["traces", "logs"] as const) {
    if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") continue;
    if (env[`OTEL_${signal.toUpperCase()}_EXPORTER`] === "none") continue;
    signals[signal] = readSignal(signal, endpoint, env);
  }
  return { signals, sampler: env.OTEL_TRACES_SAMPLER, samplerArg: env.OTEL_TRACES_SAMPLER_ARG };
}

function readSignal(signal: Signal, endpoint: string | undefined, env: Env): SignalSettings {
  const name = signal.toUpperCase();
  const protocol =
    env[`OTEL_EXPORTER_OTLP_${name}_PROTOCOL`] ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? "http/protobuf";
  if (protocol !== "http/protobuf" && protocol !== "http/json")
    throw new TelemetryConfigError(
      `The OTLP protocol ${JSON.stringify(protocol)} is not supported. Use http/protobuf or http/json, mostly on port 4318`,
    );
  const number = (key: string, fallback: number): number => {
    const value = Number(env[`${PREFIXES[signal]}_${key}`]);
    return Number.isSafeInteger(value) && value > 0 ? value : fallback;
  };
  const maxQueueSize = number("MAX_QUEUE_SIZE", 2_048);
  return {
    url: endpoint === undefined ? undefined : `${baseUrl(endpoint)}/v1/${signal}`,
    protocol,
    maxQueueSize,
    maxExportBatchSize: Math.min(number("MAX_EXPORT_BATCH_SIZE", 512), maxQueueSize),
    scheduledDelayMillis: number("SCHEDULE_DELAY", DELAY_MS[signal]),
    exportTimeoutMillis: number("EXPORT_TIMEOUT", 30_000),
  };
}

function baseUrl(endpoint: string): string {
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw new TelemetryConfigError(
      `The OTLP endpoint must be an http or https URL, such as http://127.0.0.1:4318, got ${JSON.stringify(endpoint)}`,
    );
  return endpoint.replace(/\/+$/, "");
}

/**
 * Messages that carry a trace context follow its sampled flag. For the others, `OTEL_TRACES_SAMPLER` decides; if it is not set, they
 * are not traced, because a collector may take thousands of messages a second.
 */
export function rootShare({
  sampler,
  samplerArg,
}: Pick<TelemetrySettings, "sampler" | "samplerArg">): number {
  const root = sampler?.replace(/^parentbased_/, "");
  switch (root) {
    case undefined:
    case "":
    case "always_off":
      return 0;
    case "always_on":
      return 1;
    case "traceidratio":
      return ratio(samplerArg);
    default:
      throw new TelemetryConfigError(
        `OTEL_TRACES_SAMPLER must be always_on, always_off, traceidratio or one of them with parentbased_ in front, got ${JSON.stringify(sampler)}`,
      );
  }
}

export function parentBased(root: Sampler): Sampler {
  return new ParentBasedSampler({ root });
}

/** Samples a share of the traces, from 0 to 1. */
export function rootSampler(share: number): Sampler {
  if (share === 0) return new AlwaysOffSampler();
  return share === 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(share);
}

function ratio(text: string | undefined): number {
  const value = text === undefined || text === "" ? 1 : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new TelemetryConfigError(
    `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got ${JSON.stringify(text)}`,
  );
}
