import type { TrackingPlan } from "@sluice/core";
import { AnalyticsClient, type NoPlan } from "./analytics-client.js";
import type { NodeAnalyticsOptions } from "./options.js";
import { nodePlatform } from "./platform/node-platform.js";
import type { Runtime } from "./platform/runtime.js";
import { watchProcessEnd } from "./process-end.js";
import { lazySpool } from "./spool/lazy-spool.js";

/** Node.js, Bun and Deno. */
const nodeRuntime: Runtime = {
  platform: nodePlatform,
  checkOptions: () => {},
  openSpool: lazySpool,
  watchEnd: watchProcessEnd,
};

/**
 * A client: it queues messages and sends them in batches in the background.
 *
 * Only the constructor throws (`ConfigError`). No other call throws or rejects, whatever its arguments are and whatever the server does.
 * Lost messages are reported to `onError`. You can pass its methods on without the object.
 *
 * @typeParam Plan A tracking plan that types all calls. Default: none.
 * @example
 * const analytics = new Analytics({ writeKey: "wk_…", host: "https://events.example.com" });
 * analytics.track({ userId: "u1", event: "Signed Up", properties: { plan: "pro" } });
 * await analytics.close();
 */
export class Analytics<Plan extends TrackingPlan = NoPlan> extends AnalyticsClient<Plan> {
  /** @throws ConfigError naming option, rule and value. */
  constructor(options: NodeAnalyticsOptions = {}) {
    super(options, nodeRuntime);
  }
}
