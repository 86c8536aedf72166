import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ConfigError, loadConfig } from "../../src/process/config.js";
import { SETTINGS } from "../../src/process/settings.js";

const problemsOf = (inputs: Parameters<typeof loadConfig>[0]): readonly string[] => {
  try {
    loadConfig(inputs);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe("loadConfig", () => {
  test("uses the defaults", () => {
    const config = loadConfig({ env: {} });
    for (const [name, setting] of Object.entries(SETTINGS))
      expect([name, config[name as keyof typeof config]]).toEqual([name, setting.default]);
  });

  test("prefers the command line to the environment to the file", () => {
    const readFile = () => JSON.stringify({ port: 1, host: "10.0.0.1", region: "dublin" });
    const config = loadConfig({
      flags: { port: 3 },
      env: { SLUICE_PORT: "2", SLUICE_HOST: "10.0.0.2" },
      file: "sluice.json",
      readFile,
    });
    expect(config).toMatchObject({ port: 3, host: "10.0.0.2", region: "dublin" });
  });

  test("reports all problems at once, each with its origin, rule and value", () => {
    expect(
      problemsOf({
        env: { SLUICE_PORT: "70000", SLUICE_REGION: "mars" },
        file: "sluice.json",
        readFile: () => '{"trustedProxies": -1, "prot": 8080}',
      }),
    ).toEqual([
      "prot in sluice.json is not a setting",
      'SLUICE_PORT must be an integer from 0 to 65535, got "70000"',
      'SLUICE_REGION must be one of oregon, dublin, got "mars"',
      "trustedProxies in sluice.json must be an integer from 0 to 10, got -1",
    ]);
  });

  test("never shows a secret", () => {
    for (const servers of ["nats:/sluice:hunter2@10.0.0.1", "nats://ok:4222,sluice:hunter2@10.0.0.1"])
      expect(problemsOf({ env: { SLUICE_CLUSTER_SERVERS: servers } }).join()).toMatch(
        /^SLUICE_CLUSTER_SERVERS must be .*\[hidden\]@10\.0\.0\.1"$/,
      );
    expect(problemsOf({ env: { SLUICE_ADMIN_TOKEN: "hunter2" } })).toEqual([
      "SLUICE_ADMIN_TOKEN must be a text of at least 16 characters",
    ]);
  });

  test.each([
    ["SLUICE_ADMIN_LISTEN", "8788"],
    ["SLUICE_ADMIN_LISTEN", ":8788"],
    ["SLUICE_ADMIN_LISTEN", "127.0.0.1"],
    ["SLUICE_ADMIN_LISTEN", "127.0.0.1:70000"],
    ["SLUICE_ADMIN_LISTEN", "http://127.0.0.1:8788"],
    ["SLUICE_PUBLIC_URL", "events.example.com"],
    ["SLUICE_PUBLIC_URL", "ftp://events.example.com"],
    ["SLUICE_PUBLIC_URL", "https://me:secret@events.example.com"],
    ["SLUICE_PUBLIC_URL", "https://events.example.com/?a=b"],
    ["SLUICE_PUBLIC_URL", "https://events.example.com/#"],
    ["SLUICE_METRICS_TOKEN", "short"],
  ])("refuses %s=%s", (name, value) => {
    expect(problemsOf({ env: { [name]: value } })).toEqual([expect.stringContaining(`${name} must be `)]);
  });

  test("reports a file that cannot be read or is not an object", () => {
    const missing = problemsOf({
      env: { SLUICE_CONFIG: "nowhere.json" },
      readFile: () => {
        throw new Error("ENOENT");
      },
    });
    expect(missing).toEqual(["nowhere.json cannot be read: ENOENT"]);
    expect(problemsOf({ env: {}, file: "a.json", readFile: () => "[]" })).toEqual([
      "a.json must contain a JSON object",
    ]);
  });

  test.each<[name: string, env: Record<string, string>, is: object]>([
    [
      "a list",
      { SLUICE_ALLOW_TARGETS: "10.1.0.0/16, *.internal" },
      { allowTargets: ["10.1.0.0/16", "*.internal"] },
    ],
    [
      "limits that are off",
      { SLUICE_RETENTION_MS: "none", SLUICE_RETENTION_BYTES: "none" },
      { retentionMs: "none" },
    ],
    [
      "limits by default",
      {},
      { retentionMs: 2_592_000_000, retentionBytes: "auto", messagesPerSecond: "auto" },
    ],
    [
      "a second address",
      { SLUICE_ADMIN_LISTEN: "127.0.0.1:8788" },
      { adminListen: { host: "127.0.0.1", port: 8_788 } },
    ],
    [
      "a second address of IPv6",
      { SLUICE_ADMIN_LISTEN: "[::1]:0" },
      { adminListen: { host: "::1", port: 0 } },
    ],
    [
      "a public URL with a path",
      { SLUICE_PUBLIC_URL: "https://example.com/events/" },
      { publicUrl: "https://example.com/events" },
    ],
    ["an empty variable is none", { SLUICE_PORT: "" }, { port: 8_787 }],
    [
      "a URL loses its last slash",
      { SLUICE_DUBLIN_URL: "https://eu.example.com/" },
      { dublinUrl: "https://eu.example.com" },
    ],
  ])("reads %s", (_name, env, is) => {
    expect(loadConfig({ env })).toMatchObject(is);
  });

  test("docs/reference/configuration.md lists every setting with its variable, default and meaning", () => {
    const page = readFileSync(
      new URL("../../../../docs/reference/configuration.md", import.meta.url),
      "utf8",
    );
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    const expected = Object.entries(SETTINGS).map(
      ([name, setting]) =>
        `| \`${name}\` | \`${setting.env}\` | ${setting.default === undefined || String(setting.default) === "" ? "" : `\`${setting.default}\``} | ${setting.rule} | ${setting.meaning} |`,
    );
    expect(rows).toEqual(expected);
  });
});
