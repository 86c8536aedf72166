import { ConfigError, type Transport } from "@sluice/core";
import type { UndiciTransportOptions } from "../undici-transport.js";

/** undici needs Node.js. The function exists so that code for several runtimes has one set of imports and types. */
export function undiciTransport(_options?: UndiciTransportOptions): Transport {
  throw new ConfigError(
    "transport",
    "cannot be undiciTransport() on this runtime: leave it out, or use fetchTransport()",
    "undiciTransport()",
  );
}
