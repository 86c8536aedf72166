import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";

type Telemetry = ReturnType<typeof import("@sluice/opentelemetry")["startTelemetry"]>;

/** Whether the environment asks for an export of traces or logs. */
const ENDPOINTS = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
] as const;

/**
 * Starts the export of traces and logs, if `--otlp-endpoint` or the environment asks for it. The package is optional: without it, the
 * option fails, and the environment, which may be meant for other programs, only warns.
 */
export async function openTelemetry(
  endpoint: string | undefined,
  version: string,
  io: Io,
): Promise<Telemetry | undefined> {
  const isAsked = endpoint !== undefined;
  if (!isAsked && !ENDPOINTS.some((name) => (io.env[name] ?? "") !== "")) return undefined;
  const loaded = await import("@sluice/opentelemetry").catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });
  if (loaded === undefined) {
    const missing = "Export over OTLP needs the package @sluice/opentelemetry, which is not installed";
    const hint =
      "Install it next to the package sluice; in a clone, run `npm ci && npm run build`. See docs/guide/observability.md";
    if (isAsked) throw new CommandFailure("usage", missing, hint);
    io.err(`${missing}, so OTEL_EXPORTER_OTLP_ENDPOINT has no effect. ${hint}\n`);
    return undefined;
  }
  try {
    return loaded.startTelemetry({ endpoint, version, env: io.env });
  } catch (error) {
    throw error instanceof loaded.TelemetryConfigError ? new CommandFailure("usage", error.message) : error;
  }
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return (
    (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") &&
    message.includes("@sluice/opentelemetry")
  );
}
