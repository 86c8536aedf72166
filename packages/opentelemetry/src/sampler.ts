import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import { TelemetryConfigError, type TelemetrySettings } from "./settings.js";

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
