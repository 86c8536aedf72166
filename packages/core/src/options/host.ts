import { DEFAULT_REGION, isRegion, LOCAL_COLLECTOR_URL, type Region } from "@sluice/protocol";
import { ConfigError } from "../errors/config-error.js";

/** The environment variables for the base URLs of the regions. */
const REGION_VARIABLES: Readonly<Record<Region, string>> = {
  oregon: "SLUICE_OREGON_URL",
  dublin: "SLUICE_DUBLIN_URL",
};

export interface HostSources {
  /** The name that the caller used, for errors. */
  readonly option: "host" | "endpoint";
  /** A base URL or the name of a region. Default: the environment variable `SLUICE_URL`, or else the region `oregon`. */
  readonly host?: unknown;
  readonly regions?: unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The base URL of the collector, without `/v1` and without a slash at the end. */
export function resolveHost(sources: HostSources): string {
  const { regions, environment } = sources;
  const { option, host = DEFAULT_REGION } = orFromEnvironment(sources);
  if (typeof host !== "string" || host === "") {
    throw new ConfigError(option, "must be a base URL or the name of a region", host);
  }
  if (!isRegion(host)) return baseUrl(option, host);

  const configured = regions === undefined ? undefined : regionUrl(regions, host);
  if (configured !== undefined) return baseUrl(`regions.${host}`, configured);
  const fromEnvironment = environment[REGION_VARIABLES[host]];
  if (fromEnvironment) return baseUrl(REGION_VARIABLES[host], fromEnvironment);
  if (host === DEFAULT_REGION) return LOCAL_COLLECTOR_URL;
  throw new ConfigError(
    option,
    `names a region without a URL: set \`regions.${host}\` or ${REGION_VARIABLES[host]}`,
    host,
  );
}

/** `SLUICE_URL` is used if the options name neither a host nor a URL of the default region. */
function orFromEnvironment({ option, host, regions, environment }: HostSources): {
  readonly option: string;
  readonly host?: unknown;
} {
  const hasRegion = regions !== undefined && regionUrl(regions, DEFAULT_REGION) !== undefined;
  if (host !== undefined || hasRegion || !environment.SLUICE_URL) return { option, host };
  return { option: "SLUICE_URL", host: environment.SLUICE_URL };
}

function regionUrl(regions: unknown, region: Region): unknown {
  if (typeof regions !== "object" || regions === null || Array.isArray(regions)) {
    throw new ConfigError("regions", "must be an object of region names and base URLs", regions);
  }
  for (const name of Object.keys(regions)) {
    if (!isRegion(name)) throw new ConfigError("regions", "knows the regions oregon and dublin only", name);
  }
  return (regions as { [name: string]: unknown })[region];
}

function baseUrl(option: string, text: unknown): string {
  const rule = "must be an http or https URL without user, query and fragment, or the name of a region";
  if (typeof text !== "string") throw new ConfigError(option, rule, text);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ConfigError(option, rule, text);
  }
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  // The error does not show the value, because it may contain a password.
  if (url.username !== "" || url.password !== "")
    throw new ConfigError(option, rule, "a URL with a user name");
  if (!isHttp || url.search !== "" || url.hash !== "") throw new ConfigError(option, rule, text);
  // `…/v1`, `…/v1/` and no path mean the same.
  const path = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "");
  return url.origin + path;
}
