import { isIP } from "node:net";
import { CollectorError } from "../../errors.js";
import type { Handler, Route } from "./route.js";

export interface HostCheckOptions {
  /** The address on which the server listens. */
  readonly listensOn: string;
  /** Allowed names: `events.example.com`, `*.example.com`, `*` for all. */
  readonly allowedHosts: readonly string[];
}

/**
 * Wraps routes so that they respond only if the `Host` header names this machine, or an allowed name. Otherwise a web page could let
 * its own name resolve to this machine (DNS rebinding) and read the responses. The check applies if the server listens on loopback or
 * `allowedHosts` is set: in other cases the collector does not know its names.
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
        `${host.slice(0, 100)}: if this name is yours, add it to the setting allowedHosts (SLUICE_ALLOWED_HOSTS)`,
      );
    };
  };
  return Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, checked(handler)]));
}

/** Whether a `Host` header is an address, `localhost`, or an allowed name: no foreign name can be one of these. The port does not matter. */
export function isAllowedHost(header: string, allowedHosts: readonly string[]): boolean {
  const name = hostName(header);
  if (isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost")) return true;
  return allowedHosts.some((allowed) => {
    const wanted = hostName(allowed);
    return wanted.startsWith("*.") ? name.endsWith(wanted.slice(1)) : name === wanted;
  });
}

/** In lower case, without port, brackets, and trailing dot. */
function hostName(header: string): string {
  const bare = /^\[([^\]]*)\]/.exec(header)?.[1] ?? header.replace(/:\d*$/, "");
  return bare.toLowerCase().replace(/\.$/, "");
}

function isLoopback(address: string): boolean {
  const name = hostName(address);
  return name === "localhost" || name === "::1" || name.startsWith("127.");
}
