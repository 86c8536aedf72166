import { isIP } from "node:net";
import { CollectorError } from "../../errors.js";
import type { Handler, Route } from "./route.js";

export interface HostCheckOptions {
  /** The address on which the server listens. */
  readonly listensOn: string;
  /** The routes have an address of their own: the check always applies. Default: false. */
  readonly isSeparate?: boolean;
  /** Allowed names: `events.example.com`, `*.example.com`, `*` for all. */
  readonly allowedHosts: readonly string[];
}

/**
 * Wraps routes so that they respond only if the `Host` header names this machine, or an allowed name. Otherwise a web page could let
 * its own name resolve to this machine (DNS rebinding) and read the responses. The name that a trusted proxy says must be allowed too;
 * it does not replace the `Host` header, because such a page can send any other header. The check applies if the server listens on
 * loopback, the routes have an address of their own, or `allowedHosts` is set: in other cases the collector does not know its names.
 */
export function checkHosts(routes: readonly Route[], options: HostCheckOptions): readonly Route[] {
  const { listensOn, isSeparate = false, allowedHosts } = options;
  const isChecked = isSeparate || allowedHosts.length > 0 || isLoopback(listensOn);
  if (!isChecked || allowedHosts.includes("*")) return routes;
  return routes.map((route) => ({ ...route, methods: checkedMethods(route.methods, allowedHosts) }));
}

function checkedMethods(methods: Route["methods"], allowedHosts: readonly string[]): Route["methods"] {
  const checked = (handler: Handler): Handler => {
    return (request) => {
      const foreign = request.hosts.find((host) => !isAllowedHost(host, allowedHosts));
      if (foreign === undefined) return handler(request);
      throw new CollectorError(
        "host_not_allowed",
        `${foreign.slice(0, 100)}: if this name is yours, add it to the setting allowedHosts (SLUICE_ALLOWED_HOSTS)`,
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
  const bare = /^\[([^\]]*)\](?::\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, "");
  return bare.toLowerCase().replace(/\.$/, "");
}

/** Whether an address, or a `Host` header, is of the loopback interface. */
export function isLoopback(address: string): boolean {
  const name = isIP(address) === 6 ? address : hostName(address);
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}
