import type { TrackingPlan } from "@sluice/core";
import { AnalyticsClient, type NoPlan } from "../analytics-client.js";
import type { NodeAnalyticsOptions } from "../options.js";
import { edgeRuntime } from "./edge-platform.js";

/** The client for edge runtimes, workers and browsers. */
export class Analytics<Plan extends TrackingPlan = NoPlan> extends AnalyticsClient<Plan> {
  /** @throws ConfigError naming option, rule and value. */
  constructor(options: NodeAnalyticsOptions = {}) {
    super(options, edgeRuntime);
  }
}
