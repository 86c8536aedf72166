import { isIP } from "node:net";
import { CollectorError } from "../errors.js";
import type { Handler, Route } from "./route.js";

export interface HostCheckOptions {
  /** The address that the server listens on. */
  readonly listensOn: string;
  /** Names that the operator allows: `events.example.com`, `*.example.com`, `*` for all. */
  readonly allowedHosts: readonly string[];
}

/**
 * Routes that answer only where the `Host` header names this machine, or a name that the operator allows. A page of another site can
 * have its own name resolve to this machine (DNS rebinding), and would then read what answers here. Checked where the server listens on
 * loopback, and wherever `allowedHosts` is set: elsewhere the names of a collector are not known.
 */
export function checkHosts(routes: readonly Route[], options: HostCheckOptions): readonly Route[] {
  const { listensOn, allowedHosts } = options;
  if (allowedHosts.includes("*") || (allowedHosts.length === 0 && !isLoopback(listensOn))) return routes;
  return routes.map((route) => ({ ...route, methods: checkedMethods(route.methods, allowedHosts) }));
}

function checkedMethods(methods: Route["methods"], allowedHosts: readonly string[]): Route["methods"] {
  const checked = (handler: Handler): Handler => {
    return (request) => {
      const { host } = request.headers;
      if (host === undefined || isAllowedHost(host, allowedHosts)) return handler(request);
      throw new CollectorError(
        "host_not_allowed",
        `${host.slice(0, 100)}: add this name to the setting allowedHosts (SLUICE_ALLOWED_HOSTS) if the collector is yours under it`,
      );
    };
  };
  return Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, checked(handler)]));
}

/** Whether a `Host` header is one that no foreign name can have led to: an address, `localhost`, or an allowed name. The port does not matter. */
export function isAllowedHost(header: string, allowedHosts: readonly string[]): boolean {
  const name = hostName(header);
  if (isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost")) return true;
  return allowedHosts.some((allowed) => {
    const wanted = hostName(allowed);
    return wanted.startsWith("*.") ? name.endsWith(wanted.slice(1)) : name === wanted;
  });
}

/** In lower case, without port, brackets and the dot at the end. */
function hostName(header: string): string {
  const bare = /^\[([^\]]*)\]/.exec(header)?.[1] ?? header.replace(/:\d*$/, "");
  return bare.toLowerCase().replace(/\.$/, "");
}

function isLoopback(address: string): boolean {
  const name = hostName(address);
  return name === "localhost" || name === "::1" || name.startsWith("127.");
}
