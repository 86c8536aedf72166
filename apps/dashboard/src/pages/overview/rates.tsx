import type { ReactNode } from "react";
import { deliveriesIn, latencyQuantile, type MetricsSample, rate } from "../../api/metrics.js";
import { useShownTheme } from "../../theme/theme-context.js";
import { Chart, type Series } from "../../ui/chart.js";
import { Card } from "../../ui/page.js";
import { count, duration, percent, perSecond } from "../../words/numbers.js";

const accepted = (sample: MetricsSample) => sample.accepted;
const delivered = (sample: MetricsSample) => deliveriesIn(sample, "delivered");

/** Rates and latency of the last minutes, made of the counters' differences since this tab was opened. */
export function Rates({ samples }: { samples: readonly MetricsSample[] }) {
  const theme = useShownTheme();
  const last = samples.at(-1);
  const recent = samples.at(-Math.min(samples.length, 6));
  const timesMs = samples.slice(1).map((sample) => sample.atMs);
  const pairs = samples.slice(1).map((after, index) => [samples[index] as MetricsSample, after] as const);
  const series = (read: (sample: MetricsSample) => number): (number | null)[] =>
    pairs.map(([before, after]) => rate(before, after, read) ?? null);
  const throughput: readonly Series[] = [
    { label: "Accepted", color: "--accent", values: series(accepted), fill: true },
    { label: "Delivered", color: "--good", values: series(delivered) },
  ];
  const quantile = (share: number) =>
    pairs.map(([before, after]) => latencyQuantile(before, after, share) ?? null);
  const latency: readonly Series[] = [
    { label: "Half within", color: "--accent", values: quantile(0.5), fill: true },
    { label: "99 % within", color: "--wait", values: quantile(0.99) },
  ];
  return (
    <>
      <div className="stats">
        <Stat
          label="Accepted"
          value={last && recent ? perSecond(rate(recent, last, accepted) ?? 0) : "…"}
          note={last ? `last 10 s · ${count(last.accepted)} since start` : "last 10 s"}
        />
        <Stat
          label="Delivered"
          value={last && recent ? perSecond(rate(recent, last, delivered) ?? 0) : "…"}
          note={last ? `last 10 s · ${count(delivered(last))} since start` : "last 10 s"}
        />
        <Stat
          label="Success"
          value={last ? successOf(last) : "…"}
          note="delivered of delivered and failed, since start"
        />
        <Stat
          label="Rejected"
          value={last ? count(last.rejected) : "…"}
          note={last ? `since start · ${count(last.duplicates)} duplicates left out` : "since start"}
        />
      </div>
      <div className="two-columns">
        <Card
          title="Messages a second"
          note="Since this tab was opened, five minutes at most, a point every 2 s"
        >
          <Legend series={throughput} />
          <Chart
            label={`Messages a second: ${throughput.map((line) => `${line.label} ${perSecond(line.values.at(-1) ?? 0)}`).join(", ")}`}
            timesMs={timesMs}
            series={throughput}
            format={perSecond}
            themeKey={theme}
          />
        </Card>
        <Card
          title="From receipt to delivery"
          note="All destinations together, of what was delivered in each 2 s"
        >
          <Legend series={latency} />
          <Chart
            label={`Latency: ${latency.map((line) => `${line.label} ${latencyWords(line.values)}`).join(", ")}`}
            timesMs={timesMs}
            series={latency}
            format={duration}
            themeKey={theme}
          />
        </Card>
      </div>
    </>
  );
}

function Stat({ label, value, note }: { label: string; value: ReactNode; note: string }) {
  return (
    <div className="stat">
      <span className="stat-label">{label}</span>
      <span className="stat-value number">{value}</span>
      <span className="stat-note">{note}</span>
    </div>
  );
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <p className="legend">
      {series.map((line) => (
        <span key={line.label}>
          <span className={`dot dot-series${line.color}`} aria-hidden="true" />
          {line.label}
        </span>
      ))}
    </p>
  );
}

function successOf(sample: MetricsSample): string {
  const good = delivered(sample);
  const all = good + deliveriesIn(sample, "failed");
  return all === 0 ? "–" : percent(good / all);
}

function latencyWords(values: readonly (number | null)[]): string {
  const last = values.findLast((value) => value !== null);
  return last === undefined || last === null ? "nothing delivered yet" : duration(last);
}
