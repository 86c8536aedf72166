import { expect, test } from "vitest";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

test("renders Prometheus' text format", async () => {
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
  const lines = (await metrics.render()).split("\n");
  expect(lines.filter((line, i) => line !== "" || i === lines.length - 1).join("\n")).toBe(
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

test("a counter keeps a bounded number of series and counts the rest as `other`", async () => {
  const metrics = createMetrics();
  const requests = metrics.counter("requests_total", "Requests", ["route"]);
  for (let i = 0; i < 2_000; i++) requests.inc([`/${i}`]);
  const lines = (await metrics.render()).trim().split("\n");
  expect(lines.length).toBeLessThan(1_010);
  expect(lines).toContain('requests_total{route="other"} 1000');
});

test("a name can be registered once", () => {
  const metrics = createMetrics();
  metrics.gauge("a", "A", () => 1);
  expect(() => metrics.counter("a", "A")).toThrow("A metric with the name a has already been registered.");
});

test("read returns the present samples of one metric", async () => {
  const metrics = createMetrics();
  metrics.counter("requests_total", "Requests", ["route"]).inc(["/a"], 2);
  metrics.histogram("seconds", "Time", [0.1]).observe(0.05);
  expect(await metrics.read("requests_total")).toEqual([
    { name: "requests_total", labels: { route: "/a" }, value: 2 },
  ]);
  expect((await metrics.read("seconds")).map(({ name, labels, value }) => [name, labels.le, value])).toEqual([
    ["seconds_bucket", 0.1, 1],
    ["seconds_bucket", "+Inf", 1],
    ["seconds_sum", undefined, 0.05],
    ["seconds_count", undefined, 1],
  ]);
  expect(await metrics.read("unknown")).toEqual([]);
});

test("a gauge has no sample while it reads undefined, and one again afterwards", async () => {
  const metrics = createMetrics();
  let depth: number | undefined = 3;
  metrics.gauge("depth", "Depth", () => depth);
  expect(await metrics.render()).toContain("\ndepth 3\n");
  depth = undefined;
  expect(await metrics.render()).not.toMatch(/^depth /m);
  depth = 0;
  expect(await metrics.render()).toContain("\ndepth 0\n");
});

test("the metrics of the process are there once, however many collectors it runs", async () => {
  const both = [createMetrics({ withProcess: true }), createMetrics({ withProcess: true })];
  for (const metrics of both) {
    const text = await metrics.render();
    expect(text.match(/^process_resident_memory_bytes \d+$/gm)).toHaveLength(1);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  }
});
