import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { findNatsServer } from "../nats/nats-server.ts";
import { type GrafanaDashboard, writeTypedDashboard } from "./grafana-types.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KUBERNETES = `${ROOT}deploy/kubernetes`;
const COMPOSE = `${ROOT}deploy/docker/compose.yaml`;
const COMPOSE_CLUSTER = `${ROOT}deploy/docker/compose.cluster.yaml`;
const IS_INSTALLED = ["yaml", "@grafana/schema"].every((name) =>
  existsSync(new URL(`node_modules/${name}`, import.meta.url)),
);
const HAS_YAMLLINT = existsSync("/usr/bin/yamllint");
const HAS_CADDY = existsSync("/usr/bin/caddy");
const require = createRequire(import.meta.url);

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-deploy-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test.runIf(process.env.CI)("the schemas and yamllint are installed: npm run deploy:install", () => {
  expect([IS_INSTALLED, HAS_YAMLLINT]).toEqual([true, true]);
});

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape
type Manifest = any;

function readAll(file: string): Manifest[] {
  const { parseAllDocuments } = require("yaml") as typeof import("yaml");
  return (
    parseAllDocuments(readFileSync(file, "utf8"), { merge: true }) as {
      errors: unknown[];
      toJS(): Manifest;
    }[]
  ).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

/** Throws if the manifest breaks the schema of its kind, as the API server has it. */
async function holdAgainstSchema(manifest: Manifest): Promise<void> {
  const module = new URL(`node_modules/kubernetes-models/${manifest.apiVersion}/index.js`, import.meta.url);
  const kinds = await import(/* @vite-ignore */ module.href);
  const Kind = kinds[manifest.kind];
  if (Kind === undefined) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`);
  new Kind(manifest).validate();
}

const settingsPage = readFileSync(`${ROOT}docs/reference/configuration.md`, "utf8");
const VARIABLES = new Set(
  [...settingsPage.matchAll(/^\| `\w+` \| `(SLUICE_\w+)`/gm)].map(([, name]) => name),
);
/** The kinds that Kubernetes itself does not know. */
const FOREIGN = ["kustomization.yaml", "service-monitor.yaml"];

test.skipIf(!HAS_YAMLLINT)("yamllint finds nothing", () => {
  expect(
    execFileSync("yamllint", ["-s", "-c", `${ROOT}deploy/.yamllint`, KUBERNETES, COMPOSE, COMPOSE_CLUSTER], {
      encoding: "utf8",
    }),
  ).toBe("");
});

describe.skipIf(!IS_INSTALLED)("the manifests for Kubernetes", () => {
  const files = readdirSync(KUBERNETES);
  const named = (kind: string): Manifest =>
    files.flatMap((file) => readAll(`${KUBERNETES}/${file}`)).find((one) => one.kind === kind);

  test.each(files.filter((file) => !FOREIGN.includes(file)))("%s follows the schema", async (file) => {
    for (const manifest of readAll(`${KUBERNETES}/${file}`)) await holdAgainstSchema(manifest);
  });

  test("a manifest that breaks the schema is noticed", async () => {
    const set = named("StatefulSet");
    const broken = holdAgainstSchema({ ...set, spec: { ...set.spec, replicas: "one" } });
    await expect(broken).rejects.toThrow("replicas");
  });

  test("the kustomization names every file, the service monitor as an option", () => {
    const { resources } = named("Kustomization");
    expect([...resources, ...FOREIGN].sort()).toEqual([...files].sort());
  });

  test("settings, ports, labels and times fit together", () => {
    const { data } = named("ConfigMap");
    const set = named("StatefulSet").spec;
    const [container] = set.template.spec.containers;
    expect(Object.keys(data).filter((name) => !VARIABLES.has(name))).toEqual([]);
    expect(
      container.env.map(({ name }: Manifest) => name).filter((name: string) => !VARIABLES.has(name)),
    ).toEqual([]);
    const ports = container.ports.map(({ name, containerPort }: Manifest) => [name, containerPort]);
    expect(ports).toEqual([
      ["http", 8787],
      ["admin", Number(data.SLUICE_ADMIN_LISTEN.split(":")[1])],
    ]);
    expect(set.replicas).toBe(1);
    // The time after the grace period is for closing the files.
    const graceMs = Number(data.SLUICE_CLOSE_GRACE_MS);
    expect(set.template.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(2 * graceMs);
    const labels = set.template.metadata.labels;
    for (const selector of [
      set.selector.matchLabels,
      named("Service").spec.selector,
      named("PodDisruptionBudget").spec.selector.matchLabels,
      named("NetworkPolicy").spec.podSelector.matchLabels,
    ])
      expect(selector).toEqual(labels);
    expect(container.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
      expect(probe.httpGet.port).toBe("http");
  });
});

describe.skipIf(!IS_INSTALLED)("compose.yaml", () => {
  test("uses settings that exist, and leaves time for the end", () => {
    const { services } = readAll(COMPOSE)[0];
    const { environment, stop_grace_period, read_only, volumes } = services.collector;
    expect(Object.keys(environment).filter((name) => !VARIABLES.has(name))).toEqual([]);
    expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThanOrEqual(16);
    expect([read_only, volumes]).toEqual([true, ["data:/data"]]);
    expect(
      existsSync(
        `${ROOT}deploy/docker/${services.collector.build.context}/${services.collector.build.dockerfile}`,
      ),
    ).toBe(true);
  });
});

describe.skipIf(!IS_INSTALLED)("compose.cluster.yaml", () => {
  const { services, configs, volumes } = IS_INSTALLED ? readAll(COMPOSE_CLUSTER)[0] : {};
  const named = (start: string): Manifest[] =>
    Object.entries(services)
      .filter(([name]) => name.startsWith(start))
      .map(([name, service]) => ({ name, ...(service as object) }));

  test("gives each collector its own name, address and folder, and all of them the same NATS servers", () => {
    const collectors = named("collector-");
    expect(collectors).toHaveLength(3);
    for (const { name, environment, volumes: mounted, stop_grace_period, read_only } of collectors) {
      const unknown = Object.keys(environment).filter(
        (variable) => !settingsPage.includes(`\`${variable}\``),
      );
      expect(unknown).toEqual([]);
      expect(name).toBe(`collector-${environment.SLUICE_CLUSTER_NODE}`);
      expect(environment.SLUICE_CLUSTER_ADVERTISE).toBe(`http://${name}:8787`);
      expect(mounted).toEqual([`data-${environment.SLUICE_CLUSTER_NODE}:/data`]);
      expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThanOrEqual(16);
      expect(read_only).toBe(true);
      const servers = named("nats-").map((server) => `nats://${server.name}:4222`);
      expect(environment.SLUICE_CLUSTER_SERVERS.split(",")).toEqual(servers);
      const monitors = named("nats-").map((server) => `http://${server.name}:8222`);
      expect(environment.SLUICE_CLUSTER_MONITORS.split(",")).toEqual(monitors);
    }
    const mounted = Object.values(services as Record<string, Manifest>).flatMap((one) => one.volumes ?? []);
    expect(mounted.map((mount: string) => mount.split(":")[0]).sort()).toEqual(Object.keys(volumes).sort());
  });

  test("runs NATS servers that sync, and whose configuration the server accepts", () => {
    for (const { name, command } of named("nats-")) expect(command.slice(-2)).toEqual(["--name", name]);
    expect(configs.nats.content).toContain("sync_interval: always");
    const server = findNatsServer();
    if (server.kind === "missing") return;
    const file = join(newFolder(), "nats-server.conf");
    writeFileSync(file, configs.nats.content.replaceAll("$" + "{NATS_PASSWORD}", "secret"));
    const { status, stderr } = spawnSync(server.path, ["-t", "--config", file], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, expect.stringContaining("is valid")]);
  });

  test.skipIf(!HAS_CADDY)("sends requests to the collectors that are ready", () => {
    const file = join(newFolder(), "Caddyfile");
    writeFileSync(file, configs.caddy.content);
    const adapted = execFileSync("caddy", ["adapt", "--config", file, "--adapter", "caddyfile"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    for (const port of [8787, 8788])
      for (const node of ["a", "b", "c"]) expect(adapted).toContain(`"dial":"collector-${node}:${port}"`);
    expect(adapted).toContain('"uri":"/readyz"');
  });
});

describe.skipIf(!IS_INSTALLED)("the dashboard for Grafana", () => {
  const text = readFileSync(`${ROOT}deploy/grafana/sluice.json`, "utf8");

  /** What the compiler says of the dashboard. Empty: Grafana's types allow it. */
  function compile(dashboard: string): string {
    const folder = mkdtempSync(fileURLToPath(new URL("node_modules/.dashboard-", import.meta.url)));
    folders.push(folder);
    const file = join(folder, "dashboard.ts");
    writeTypedDashboard(file, JSON.parse(dashboard) as GrafanaDashboard);
    const flags = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "preserve"];
    const compiler = `${ROOT}node_modules/typescript-native/bin/tsc`;
    const compiled = spawnSync(
      process.execPath,
      [compiler, ...flags, "--types", "", "--ignoreConfig", file],
      {
        encoding: "utf8",
        cwd: folder,
      },
    );
    return compiled.stdout + compiled.stderr;
  }

  test("follows Grafana's types, for the dashboard, each variable, and each panel with its options", () => {
    expect(compile(text)).toBe("");
  });

  test("what Grafana would ignore or refuse is noticed", () => {
    const broken = text
      .replace('"graphTooltip": 1', '"graphTooltip": 7')
      .replace('"displayMode": "list"', '"displayMode": "lists"')
      .replace('"showPoints"', '"showPoint"');
    const said = compile(broken);
    for (const wrong of ["'7'", '"lists"', '"showPoint"']) expect(said).toContain(wrong);
  });

  test("places its panels beside and below each other, in 24 columns", () => {
    const { panels } = JSON.parse(text) as { panels: { id: number; title: string; gridPos: Manifest }[] };
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([x < 24, title, taken.get(`${x} ${y}`)]).toEqual([true, title, undefined]);
          taken.set(`${x} ${y}`, title);
        }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

/** The rules of hadolint that matter for our file. */
describe("the Dockerfile", () => {
  const text = readFileSync(`${ROOT}deploy/docker/Dockerfile`, "utf8");
  const lines = text.replace(/\\\n\s*/g, " ").split("\n");
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));

  test("pins the base by a tag, never `latest`", () => {
    const [, tag] = /^ARG BASE=\S+:(\S+)$/m.exec(text) ?? [];
    expect(tag).toMatch(/^\d/);
  });

  test("ends with a stage that runs nothing, as a numeric user, in the form without a shell", () => {
    expect(last.filter((line) => /^(RUN|ADD|SHELL)\b/.test(line))).toEqual([]);
    expect(last.filter((line) => /^(USER|STOPSIGNAL|VOLUME) /.test(line))).toEqual([
      "USER 1000:1000",
      'VOLUME ["/data"]',
      "STOPSIGNAL SIGTERM",
    ]);
    for (const name of ["ENTRYPOINT", "CMD"])
      expect(last.find((line) => line.startsWith(`${name} `))).toMatch(/^\w+ \["/);
    const healthcheck = last.find((line) => line.startsWith("HEALTHCHECK ")) ?? "";
    expect(healthcheck).toMatch(/CMD \["node"/);
    expect(healthcheck).not.toMatch(/curl|wget/);
  });

  test("copies from folders that the first stage makes, and that .dockerignore lets in", () => {
    const ignored = readFileSync(`${ROOT}.dockerignore`, "utf8").split("\n");
    expect(ignored).toContain("*");
    for (const needed of ["!apps", "!packages", "!package-lock.json", "!deploy/docker/assemble.mjs"])
      expect(ignored).toContain(needed);
    for (const kept of ["**/node_modules", "**/dist", "**/.sluice", "**/*.env"])
      expect(ignored).toContain(kept);
  });
});
