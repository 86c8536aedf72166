import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Setting } from "@sluice/collector";
import type { Io } from "../../../terminal/io.js";

/** Texts that say nothing about the user. Every other text is hidden. */
const PLAIN_TEXTS = new Set([
  "127.0.0.1",
  "::1",
  "localhost",
  "0.0.0.0",
  "::",
  "auto",
  "none",
  "debug",
  "info",
  "warn",
  "error",
  "json",
  "pretty",
  "oregon",
  "dublin",
]);

/** Variables of Node.js and OpenTelemetry that change how a collector behaves. */
const VARIABLES = [
  "NODE_EXTRA_CA_CERTS",
  "NODE_OPTIONS",
  "NODE_USE_ENV_PROXY",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_PROTOCOL",
  "OTEL_SDK_DISABLED",
  "OTEL_TRACES_SAMPLER",
  "UV_THREADPOOL_SIZE",
];

export interface MaskedSettings {
  /** Every setting that is not the default: where it is set, and its value if that is a number or a plain word. */
  readonly settings: { readonly [name: string]: { readonly from: string; readonly value: unknown } };
  /** `none`, `read`, or why the file of SLUICE_CONFIG cannot be used. */
  readonly file: string;
  readonly variables: readonly string[];
}

/** What `sluice collector` would read from this environment, without addresses, paths and secrets. */
export function maskedSettings(known: { readonly [name: string]: Setting<unknown> }, io: Io): MaskedSettings {
  const file = readFile(io);
  const settings = Object.entries(known).flatMap(([name, setting]) => {
    const fromEnv = io.env[setting.env];
    const isInEnv = fromEnv !== undefined && fromEnv !== "";
    const given = isInEnv ? fromEnv : file.content[name];
    if (given === undefined || given === null) return [];
    return [[name, { from: isInEnv ? "environment" : "file", value: maskedSetting(setting, given) }]];
  });
  return {
    settings: Object.fromEntries(settings),
    file: file.state,
    variables: VARIABLES.filter((name) => io.env[name] !== undefined && io.env[name] !== ""),
  };
}

function maskedSetting(setting: Setting<unknown>, given: unknown): unknown {
  const value = setting.parse(given);
  if (value === undefined) return "(not valid, hidden)";
  if (setting.isSecret !== true) {
    if (typeof value === "number" || typeof value === "boolean") return value;
    if (typeof value === "string" && PLAIN_TEXTS.has(value)) return value;
    if (Array.isArray(value)) return `(${value.length} hidden)`;
  }
  return "(set, hidden)";
}

function readFile({ env, cwd }: Io): {
  readonly state: string;
  readonly content: { readonly [name: string]: unknown };
} {
  const path = env.SLUICE_CONFIG;
  if (path === undefined || path === "") return { state: "none", content: {} };
  try {
    const content: unknown = JSON.parse(readFileSync(resolve(cwd, path), "utf8"));
    if (typeof content === "object" && content !== null && !Array.isArray(content))
      return { state: "read", content: content as { readonly [name: string]: unknown } };
    return { state: "not a JSON object", content: {} };
  } catch (error) {
    return { state: error instanceof SyntaxError ? "not JSON" : "cannot be read", content: {} };
  }
}
