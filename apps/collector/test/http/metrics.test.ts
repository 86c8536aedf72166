import { expect, test } from "vitest";
import { createMetrics } from "../../src/process/metrics.js";

test("renders what Prometheus reads", () => {
  const metrics = createMetrics();
  const requests = metrics.counter("requests_total", "Requests", ["route", "status"]);
  requests.inc(["/a", "200"]);
  requests.inc(["/a", "200"], 2);
  requests.inc(['/"b"\\\n', "500"]);
  metrics.counter("empty_total", "None yet").inc();
  metrics.gauge("depth", "Depth", () => 3);
  metrics.gauge("unknown", "Not known now", () => undefined);
  metrics.gauges("lag", "Lag", ["destination"], () => [[["d1"], 7]]);
  const seconds = metrics.histogram("seconds", "Time", [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 2]) seconds.observe(value);
  expect(metrics.render()).toBe(
    [
      "# HELP requests_total Requests",
      "# TYPE requests_total counter",
      'requests_total{route="/a",status="200"} 3',
      'requests_total{route="/\\"b\\"\\\\\\n",status="500"} 1',
      "# HELP empty_total None yet",
      "# TYPE empty_total counter",
      "empty_total 1",
      "# HELP depth Depth",
      "# TYPE depth gauge",
      "depth 3",
      "# HELP unknown Not known now",
      "# TYPE unknown gauge",
      "# HELP lag Lag",
      "# TYPE lag gauge",
      'lag{destination="d1"} 7',
      "# HELP seconds Time",
      "# TYPE seconds histogram",
      'seconds_bucket{le="0.1"} 2',
      'seconds_bucket{le="1"} 3',
      'seconds_bucket{le="+Inf"} 4',
      "seconds_sum 2.65",
      "seconds_count 4",
      "",
    ].join("\n"),
  );
});

test("a counter keeps a bounded number of series, and counts the rest together", () => {
  const metrics = createMetrics();
  const requests = metrics.counter("requests_total", "Requests", ["route"]);
  for (let i = 0; i < 2_000; i++) requests.inc([`/${i}`]);
  const lines = metrics.render().trim().split("\n");
  expect(lines.length).toBeLessThan(1_010);
  expect(lines).toContain('requests_total{route="other"} 1000');
});

test("a name is given once", () => {
  const metrics = createMetrics();
  metrics.gauge("a", "A", () => 1);
  expect(() => metrics.counter("a", "A")).toThrow("The metric a exists already");
});
