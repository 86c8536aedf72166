import type { UnitResult } from "../state/unit-runner.js";
import type { Progress } from "./loop/progress.js";

/** The logger that audiences need. The collector's logger fits. */
export interface Logger {
  warn(event: string, fields?: { readonly [name: string]: unknown }): void;
  error(event: string, fields?: { readonly [name: string]: unknown }): void;
}

/** The metrics registry that audiences need. The collector's registry fits. */
export interface Metrics {
  counter(
    name: string,
    help: string,
    labels?: readonly string[],
  ): { inc(labels?: readonly string[], by?: number): void };
  /** `read` is called at each scrape. If it returns undefined, the sample is left out. */
  gauge(name: string, help: string, read: () => number | undefined): void;
  gauges(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => readonly (readonly [labels: readonly string[], value: number])[],
  ): void;
}

export interface AudienceMetrics {
  published(messages: number): void;
  /** Counts what a unit of work reports beside its status. */
  count(result: UnitResult): void;
}

export function registerMetrics(
  {
    metrics,
    onRefusedJoins,
  }: {
    readonly metrics: Metrics;
    readonly onRefusedJoins?: ((sourceId: string, messages: number) => void) | undefined;
  },
  progress: Progress,
): AudienceMetrics {
  registerGauges(metrics, progress);
  const published = metrics.counter(
    "sluice_audience_messages_total",
    "Messages made by audiences and computed traits",
  );
  const refusedJoins = metrics.counter(
    "sluice_refused_joins_total",
    "Identify and alias messages that asked for ids to be joined that were not, by source",
    ["source"],
  );
  const leftOutOfProfiles = metrics.counter(
    "sluice_profile_left_out_total",
    "Traits and ids that were left out because the profile is full",
    ["kind"],
  );
  return {
    published: (messages) => published.inc([], messages),
    count({ refusedJoins: refused, leftOut }) {
      for (const [sourceId, messages] of refused) {
        refusedJoins.inc([sourceId], messages);
        onRefusedJoins?.(sourceId, messages);
      }
      if (leftOut.traits > 0) leftOutOfProfiles.inc(["trait"], leftOut.traits);
      if (leftOut.ids > 0) leftOutOfProfiles.inc(["id"], leftOut.ids);
    },
  };
}

function registerGauges(metrics: Metrics, progress: Progress): void {
  metrics.gauge(
    "sluice_audiences_backlog_messages",
    "Messages of the log that audiences have not counted yet",
    () => progress.behind,
  );
  metrics.gauge(
    "sluice_audiences_lag_seconds",
    "While audiences are behind: how long ago the message was received that they counted last. Windows end that much later",
    () => progress.lagMs / 1_000,
  );
  metrics.gauge(
    "sluice_computed_traits_left_out_events",
    "Events that are not part of the computed traits they belong to, because a limit was reached",
    () => progress.status.leftOut,
  );
  metrics.gauge(
    "sluice_audience_messages_set_aside",
    "Messages and requests that audiences do not count, because the engine failed over them repeatedly: see GET /api/v1/audience-engine",
    () => progress.status.setAside,
  );
}
