import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterWorld } from "../apps/collector/test/cluster/cluster-world.js";
import {
  freePort,
  ROOT,
  type RunningCollector,
  runCollector,
  stopProcess,
} from "../docs/test/running-collector.js";

/** Debian's package `prometheus` brings both programs. On CI, where they must be, the tests fail without them. */
const hasPrometheus =
  process.env.CI !== undefined ||
  ["promtool", "prometheus"].every((name) => spawnSync(name, ["--version"]).error === undefined);

const ALERTS = join(ROOT, "deploy/prometheus/alerts.yml");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const alertNames = [...read("deploy/prometheus/alerts.yml").matchAll(/- alert: (\w+)/g)].map(
  ([, name]) => name,
);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(read("deploy/grafana/sluice.json")) as { readonly panels: readonly Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

describe("alert rules", () => {
  test("each has a severity, a summary, and what to do", () => {
    for (const [, name, rule = ""] of read("deploy/prometheus/alerts.yml").matchAll(
      /- alert: (\w+)\n([\s\S]*?)(?=\n {6}- alert|$(?![\s\S]))/g,
    )) {
      expect([name, rule]).toEqual([name, expect.stringMatching(/severity: (critical|warning)/)]);
      for (const field of ["summary", "action"])
        expect([name, rule]).toEqual([name, expect.stringMatching(new RegExp(`${field}: "(?:[A-Z]|{{).+"`))]);
    }
    expect(alertNames.length).toBeGreaterThan(15);
  });

  test("each has a unit test in which it fires", () => {
    const tested = [...read("deploy/prometheus/alerts.test.yml").matchAll(/ALERTS\{alertname="(\w+)"/g)];
    expect([...new Set(tested.map(([, name]) => name))].sort()).toEqual([...alertNames].sort());
  });

  test.skipIf(!hasPrometheus)("pass promtool", () => {
    execFileSync("promtool", ["check", "rules", ALERTS], { stdio: "pipe" });
    execFileSync("promtool", ["check", "config", join(ROOT, "deploy/prometheus/prometheus.yml")], {
      stdio: "pipe",
    });
    execFileSync("promtool", ["test", "rules", join(ROOT, "deploy/prometheus/alerts.test.yml")], {
      stdio: "pipe",
    });
  });
});

/** The names of the metrics in Prometheus' text format, with those of histograms' parts. */
function typesIn(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].map(([, name = "", type = ""]) => [name, type]));
}

/** The metrics that only processes of a cluster have. */
async function metricsOfCluster(): Promise<string> {
  await using world = await clusterWorld();
  await world.start("a");
  const { url } = await world.owner();
  const all = await (await fetch(`${url}/metrics`)).text();
  return all
    .split("\n")
    .filter((line) => line.includes("sluice_cluster_"))
    .map((line) => `${line}\n`)
    .join("");
}

describe("a running collector", () => {
  const collectors: RunningCollector[] = [];
  let env: Readonly<Record<string, string>>;
  let metrics: string;
  const receiver = createServer((request, response) => {
    request.resume().once("end", () => response.writeHead(statusFor(request.url)).end());
  });

  beforeAll(async () => {
    const collector = await runCollector();
    collectors.push(collector);
    ({ env } = collector);
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const { port } = receiver.address() as AddressInfo;
    for (const path of ["works", "fails", "gone"])
      await callApi("/destinations", {
        type: "webhooks",
        name: path,
        sourceIds: [env.SLUICE_SOURCE_ID],
        settings: { webhooks: [{ url: `http://127.0.0.1:${port}/${path}` }] },
        enabled: true,
      });
    await traffic();
    metrics = await (await fetch(`${env.SLUICE_URL}/metrics`)).text();
    metrics += await metricsOfCluster();
  });
  afterAll(async () => {
    receiver.close();
    for (const collector of collectors) await collector.close();
  });

  async function callApi(path: string, body: object): Promise<void> {
    const response = await fetch(`${env.SLUICE_URL}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${env.SLUICE_ADMIN_TOKEN}` },
      body: JSON.stringify(body),
    });
    expect(response.status).toBeLessThan(300);
  }

  /** Messages that are accepted, rejected and refused. */
  async function traffic(): Promise<void> {
    const send = (writeKey: string | undefined, body: object): Promise<Response> =>
      fetch(`${env.SLUICE_URL}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
        body: JSON.stringify(body),
      });
    const batch = [{ type: "track", event: "Ordered", userId: "u1" }, { type: "track" }];
    expect((await send(env.SLUICE_WRITE_KEY, { batch })).status).toBe(200);
    expect((await send("wk_unknown", { batch })).status).toBe(401);
  }

  test.skipIf(!hasPrometheus)("passes `promtool check metrics`", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: metrics });
    expect(`${stdout}${stderr}`).toBe("");
    expect(status).toBe(0);
  });

  test("names its metrics by Prometheus' rules", () => {
    for (const [name, type] of typesIn(metrics)) {
      expect(name).toMatch(/^(sluice|nodejs|process)_[a-z0-9_]+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/);
    }
    const helps = [...metrics.matchAll(/^# HELP (\S+) ?(.*)$/gm)].filter(([, name]) =>
      name?.startsWith("sluice_"),
    );
    for (const [, name, help] of helps)
      expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z\d]/)]);
  });

  test("docs/reference/metrics.md lists its metrics with their types, and no others", () => {
    const rows = [
      ...read("docs/reference/metrics.md").matchAll(/^\| `(sluice_\w+)(?:\{[^}]*\})?` \| (\w+) \|/gm),
    ];
    const listed = new Map(rows.map(([, name = "", type = ""]) => [name, type]));
    const real = new Map([...typesIn(metrics)].filter(([name]) => name.startsWith("sluice_")));
    expect(Object.fromEntries([...listed].sort())).toEqual(Object.fromEntries([...real].sort()));
  });

  test("dashboard and alerts use metrics that exist", () => {
    const known = new Set(
      [...typesIn(metrics)].flatMap(([name, type]) =>
        type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
    const used = [read("deploy/prometheus/alerts.yml"), ...queries.map(([, expr]) => expr)].flatMap((text) =>
      [...text.replace(/"[^"]*"/g, "").matchAll(/\b(?:sluice|nodejs|process)_\w+/g)].map(([name]) => name),
    );
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test.skipIf(!hasPrometheus)(
    "is scraped by a Prometheus, in which every query of the dashboard has a result and alerts fire",
    async () => {
      await using prometheus = await startPrometheus(env.SLUICE_URL ?? "");
      const missing = new Map(queries.map(([title, expr]) => [expr, title]));
      await repeat(
        async () => {
          await traffic();
          for (const expr of missing.keys())
            if ((await prometheus.query(forPrometheus(expr))).length > 0) missing.delete(expr);
          return missing.size === 0;
        },
        () => `queries without a result: ${[...missing.values()].join(", ")}`,
      );

      // A destination whose URL answered 410, and one that refuses messages for good.
      await prometheus.firing("SluiceDestinationUrlDisabled", "SluiceMessagesGivenUp");
      await collectors.pop()?.close();
      await prometheus.firing("SluiceDown");
    },
    120_000,
  );
});

function statusFor(path: string | undefined): number {
  return path === "/gone" ? 410 : path === "/fails" ? 400 : 200;
}

/** Replaces Grafana's variables. */
function forPrometheus(expr: string): string {
  return expr.replaceAll("$__rate_interval", "10s").replaceAll(/\$(instance|destination)/g, ".*");
}

interface RunningPrometheus extends AsyncDisposable {
  query(expr: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>;
  firing(...alerts: readonly string[]): Promise<void>;
}

/** The rules of `alerts.yml` as they are, except that alerts fire at once. */
async function startPrometheus(target: string): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-prometheus-"));
  const port = await freePort();
  await cp(ALERTS, join(folder, "alerts.yml"));
  await writeFile(join(folder, "alerts.yml"), readFileSync(ALERTS, "utf8").replace(/for: \w+/g, "for: 0s"));
  await writeFile(
    join(folder, "prometheus.yml"),
    read("deploy/prometheus/prometheus.yml")
      .replaceAll(/_interval: 15s/g, "_interval: 1s")
      .replace("127.0.0.1:8787", new URL(target).host),
  );
  const child: ChildProcess = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  const query: RunningPrometheus["query"] = async (expr) => {
    const address = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`;
    const answer = (await (await fetch(address)).json()) as {
      readonly status: string;
      readonly error?: string;
      readonly data?: { readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[] };
    };
    if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
    return answer.data?.result ?? [];
  };
  await repeat(
    async () => (await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined))?.ok === true,
    () => `Prometheus is not ready (exit code ${child.exitCode})`,
  );
  return {
    query,
    async firing(...alerts) {
      let firing: readonly (string | undefined)[] = [];
      await repeat(
        async () => {
          firing = (await query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric.alertname);
          return alerts.every((name) => firing.includes(name));
        },
        () => `waiting for ${alerts.join(", ")}; firing: ${firing.join(", ")}`,
      );
    },
    async [Symbol.asyncDispose]() {
      await stopProcess(child, "SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Prometheus has no event to wait for: asks until it is so. */
async function repeat(isSo: () => Promise<boolean>, explain: () => string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await isSo()) return;
    await sleep(300);
  }
  throw new Error(explain());
}
