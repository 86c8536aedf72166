import { arch, availableParallelism, freemem, release, totalmem } from "node:os";
import { isSea } from "node:sea";
import manifest from "../../../../package.json" with { type: "json" };
import { type ConnectionOptions, connect } from "../../../connection/connection.js";
import { isLoopbackUrl } from "../../../connection/loopback-url.js";
import type { Io } from "../../../terminal/io.js";
import type { Check } from "../check.js";
import { Aliases } from "./aliases.js";
import { collectorFacts } from "./collector-facts.js";
import { failureCode } from "./failure-code.js";
import { maskedSettings } from "./masked-settings.js";
import { type Probe, probe } from "./probe.js";

/** What a report contains, for the user who is going to send it. */
export const CONTENTS = [
  ["program, machine", "versions, platform, processors, memory"],
  ["checks", "the result of each check, without its text"],
  ["configuration", "settings of this environment: numbers and fixed words; everything else is hidden"],
  ["addresses", "scheme and response times, no host names"],
  ["collector", "version, limits and state of the storage"],
  ["sources, destinations", "numbered, with type, health and counts; no names, URLs, headers or keys"],
  ["failures", "deliveries that failed, by destination and cause"],
  ["counts, audiences, lastHour", "how many there are, messages of the last hour, worst latency"],
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
  const messages = await address(url, io);
  const controlApi = admin === url ? messages : await address(admin, io);
  return {
    format: 1,
    about: "Made by `sluice doctor --report`. Read it before you send it.",
    createdAt: new Date(io.now()).toISOString(),
    program: { version: manifest.version, node: process.versions.node, isSingleFile: isSea() },
    machine: machine(),
    checks: checks.map(({ name, result }) => ({ name, result })),
    configuration: maskedSettings(SETTINGS, io),
    addresses: admin === url ? { all: messages } : { messages, controlApi },
    ...(await facts(controlApi.readyz, options, io)),
    logs: "not included: the collector writes its log to stderr and keeps no copy",
  };
}

/** What the control API says, if the address looks like a collector's. */
async function facts({ result }: Probe, options: ConnectionOptions, io: Io): Promise<object> {
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

async function address(url: string, io: Io) {
  return {
    scheme: new URL(url).protocol.replace(":", ""),
    isLoopback: isLoopbackUrl(url),
    healthz: await probe(url, "/healthz", io),
    readyz: await probe(url, "/readyz", io),
  };
}
