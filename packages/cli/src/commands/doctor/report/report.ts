import { readFileSync } from "node:fs";
import { arch, availableParallelism, freemem, release, totalmem } from "node:os";
import { resolve } from "node:path";
import { isSea } from "node:sea";
import type { Setting } from "@sluice/collector";
import manifest from "../../../../package.json" with { type: "json" };
import { type ConnectionOptions, connect } from "../../../connection/connection.js";
import { isLoopbackUrl } from "../../../connection/listening-file.js";
import type { Io } from "../../../terminal/io.js";
import type { Check } from "../check.js";
import { Aliases, collectorFacts, failureCode } from "./collector-facts.js";

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

interface MaskedSettings {
  /** Every setting that is not the default: where it is set, and its value if that is a number or a plain word. */
  readonly settings: { readonly [name: string]: { readonly from: string; readonly value: unknown } };
  /** `none`, `read`, or why the file of SLUICE_CONFIG cannot be used. */
  readonly file: string;
  readonly variables: readonly string[];
}

/** What `sluice collector` would read from this environment, without addresses, paths and secrets. */
function maskedSettings(known: { readonly [name: string]: Setting<unknown> }, io: Io): MaskedSettings {
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

const TIMEOUT_MS = 5_000;

interface Readiness {
  readonly scheme: string;
  readonly isLoopback: boolean;
  /** The HTTP status of `/readyz`, or a code of the error. */
  readonly result: number | string;
  /** Why it is not ready, such as `overloaded`. */
  readonly reason?: string;
  readonly tookMs: number;
}

async function readiness(url: string, io: Io): Promise<Readiness> {
  const startMs = io.monotonic();
  const answer = await request(`${url}/readyz`);
  return {
    scheme: new URL(url).protocol.replace(":", ""),
    isLoopback: isLoopbackUrl(url),
    ...answer,
    tookMs: Math.round((io.monotonic() - startMs) * 10) / 10,
  };
}

async function request(address: string): Promise<Pick<Readiness, "result" | "reason">> {
  try {
    const response = await fetch(address, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    const body: unknown = await response.json().catch(() => undefined);
    const reason = (body as { readonly reason?: unknown } | undefined | null)?.reason;
    const isCode = typeof reason === "string" && /^[a-z_]{1,40}$/.test(reason);
    return { result: response.status, ...(isCode && { reason }) };
  } catch (error) {
    return { result: failureCode(error) };
  }
}

/** What a report contains, for the user who is going to send it. */
export const CONTENTS = [
  ["program, machine", "versions, platform, processors, memory"],
  ["checks", "the result of each check, without its text"],
  ["configuration", "settings of this environment: numbers and fixed words; everything else is hidden"],
  ["addresses", "scheme, readiness and response time, no host names"],
  ["collector", "version, limits and state of the storage"],
  ["health, problems", "of sources and destinations, numbered, with counts; no names, URLs, headers or keys"],
  ["failures", "deliveries that failed, by destination and cause"],
  ["audiences", "how far they are behind"],
  ["metrics", "all values; ids in labels are numbered"],
] as const;

export interface ReportAddresses {
  readonly url: string;
  readonly admin: string;
}

/** Everything that helps with a bug report. Only what is known to be harmless is copied: no text that a user or a message could have written. */
export async function buildReport(
  checks: readonly Check[],
  { url, admin }: ReportAddresses,
  options: ConnectionOptions,
  io: Io,
): Promise<object> {
  const { SETTINGS } = await import("@sluice/collector");
  const messages = await readiness(url, io);
  const controlApi = admin === url ? messages : await readiness(admin, io);
  return {
    format: 1,
    about: "Made by `sluice doctor --report`. Read it before you send it.",
    createdAt: new Date(io.now()).toISOString(),
    program: { version: manifest.version, node: process.versions.node, isSingleFile: isSea() },
    machine: machine(),
    checks: checks.map(({ name, result }) => ({ name, result })),
    configuration: maskedSettings(SETTINGS, io),
    addresses: admin === url ? { all: messages } : { messages, controlApi },
    ...(await facts(controlApi, options, io)),
    logs: "not included: the collector writes its log to stderr and keeps no copy",
  };
}

/** What the control API says, if the address looks like a collector's. */
async function facts({ result }: Readiness, options: ConnectionOptions, io: Io): Promise<object> {
  if (result !== 200 && result !== 503) return { collector: { unavailable: "the address is not ready" } };
  try {
    return await collectorFacts(await connect(options, io), new Aliases());
  } catch (error) {
    return { collector: { unavailable: failureCode(error) } };
  }
}

function machine(): object {
  return {
    platform: process.platform,
    arch: arch(),
    // What follows the number can be a name that somebody gave the kernel.
    release: /^\d+(?:\.\d+){0,3}/.exec(release())?.[0] ?? "other",
    processors: availableParallelism(),
    memoryBytes: totalmem(),
    freeMemoryBytes: freemem(),
  };
}
