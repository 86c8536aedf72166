import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LEFT_OUT } from "./apps/collector/test/cluster/left-out.ts";
import { sourceAliases } from "./source-aliases.ts";

/** One Vitest project a workspace folder; run with `vitest run --config vitest.workspace.ts`. */
const folders = ["packages", "apps", "examples"].flatMap((parent) =>
  readdirSync(parent)
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(`${folder}/test`)),
);

/**
 * The collector's end-to-end tests that can run on a cluster of three: those that start theirs with `openCollector`, and with several
 * partitions, those of the ingestion too. `npm test` runs some of them, and `npm run test:cluster` all.
 */
function testsOnCluster(starts: RegExp): string[] {
  const leftOut = LEFT_OUT.filter(
    ({ test }) => test === undefined && process.env.SLUICE_TEST_LEFT_OUT !== "1",
  );
  return readdirSync("apps/collector/test", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .filter((file) => starts.test(readFileSync(`apps/collector/test/${file}`, "utf8")))
    .filter((file) => starts === ON_ONE_PARTITION || !leftOut.some((one) => one.file === file))
    .map((file) => `test/${file}`);
}

const ON_ONE_PARTITION = /openCollector\(/;
const ON_SEVERAL_PARTITIONS = /(?:openCollector|startIngestServer)\(/;

/** The project of the tests on a cluster. `few`: the files that `npm test` runs. */
function onCluster(name: string, few: readonly string[], starts: RegExp, partitions: string) {
  const isAsked = process.env.SLUICE_TEST_STORE !== undefined;
  return {
    extends: true as const,
    test: {
      name,
      root: "apps/collector",
      include: isAsked ? testsOnCluster(starts) : [...few],
      setupFiles: [join(import.meta.dirname, "apps/collector/test/cluster/leave-out.ts")],
      env: {
        SLUICE_TEST_STORE: process.env.SLUICE_TEST_STORE ?? "replicated",
        SLUICE_TEST_PARTITIONS: partitions,
      },
      testTimeout: 120_000,
      hookTimeout: 60_000,
    },
  };
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
            testTimeout: 30_000,
            hookTimeout: 30_000,
            // The default of one second is too short for a browser on a busy machine.
            expect: { poll: { timeout: 15_000 } },
          },
        })),
      onCluster(
        "apps/collector on a cluster",
        ["test/deletions/shared-headers.test.ts"],
        ON_ONE_PARTITION,
        "1",
      ),
      onCluster(
        "apps/collector on several partitions",
        [
          "test/ingest/batch.test.ts",
          "test/ingest/refused-requests.test.ts",
          "test/compat/wire-forms.test.ts",
          "test/events/source-plans.test.ts",
        ],
        ON_SEVERAL_PARTITIONS,
        process.env.SLUICE_TEST_PARTITIONS ?? "4",
      ),
    ],
  },
});
