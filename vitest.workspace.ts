import { existsSync, readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./source-aliases.ts";

/** One Vitest project a workspace folder; run with `vitest run --config vitest.workspace.ts`. */
const folders = ["packages", "apps", "examples"].flatMap((parent) =>
  readdirSync(parent)
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(`${folder}/test`)),
);

/**
 * The collector's end-to-end tests, which can also run on a cluster of three, and with several workers. `npm test` runs some of them there;
 * `npm run test:cluster` and `npm run test:workers` run all.
 */
function endToEndTests(variable: string, some: readonly string[]): string[] {
  if (process.env[variable] === undefined) return [...some];
  return readdirSync("apps/collector/test", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .filter((file) => readFileSync(`apps/collector/test/${file}`, "utf8").includes("openCollector("))
    .map((file) => `test/${file}`);
}

/**
 * Other projects' files share two processes and their modules: half of the time of a small file was a start with the same imports. The
 * files are dealt out to the two beforehand, so that one would stand idle while the other has the longest.
 */
const FEW_LONG_FILES = ["packages/event-log", "."];

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    // Two cores: more workers only slow the child processes down that crash and end-to-end tests start.
    maxWorkers: 2,
    // They end what hangs, and assert no speed: on a machine with a load of ten, everything takes ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      ...[...folders, "docs", "."]
        .filter((folder) => folder.includes("/") || existsSync(`${folder}/test`))
        .map((folder) => ({
          extends: true as const,
          test: {
            name: folder === "." ? "repository" : folder,
            root: folder,
            isolate: FEW_LONG_FILES.includes(folder),
            include: ["test/**/*.test.ts"],
          },
        })),
      {
        extends: true as const,
        test: {
          name: "apps/collector on a cluster",
          root: "apps/collector",
          include: endToEndTests("SLUICE_TEST_STORE", ["test/deletions/shared-headers.test.ts"]),
          env: { SLUICE_TEST_STORE: process.env.SLUICE_TEST_STORE ?? "replicated" },
        },
      },
      {
        extends: true as const,
        test: {
          name: "apps/collector with three workers",
          root: "apps/collector",
          include: endToEndTests("SLUICE_TEST_WORKERS", [
            "test/admin/changes-in-force.test.ts",
            "test/deletions/shared-headers.test.ts",
          ]),
          env: { SLUICE_TEST_WORKERS: process.env.SLUICE_TEST_WORKERS ?? "3" },
        },
      },
    ],
  },
});
