import { watchProcessEnd } from "../process-end.js";
import { lazySpool } from "../spool/lazy-spool.js";
import { nodePlatform } from "./node-platform.js";
import type { Runtime } from "./runtime.js";

/** Node.js, Bun and Deno. */
export const nodeRuntime: Runtime = {
  platform: nodePlatform,
  checkOptions: () => {},
  openSpool: lazySpool,
  watchEnd: watchProcessEnd,
};
