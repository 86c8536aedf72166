import { existsSync, readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
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

/** They take longest: started last, one would compute or wait alone. */
const STARTED_FIRST = [
  "packages/destination-kafka/test/kafka.test.ts",
  "test/release/rehearsal.test.ts",
  "test/simulation/planted-bugs.test.ts",
  "test/simulation/seeds.test.ts",
  "apps/dashboard/test/every-page.test.ts",
  "apps/dashboard/test/transformations.test.ts",
  "test/site.test.ts",
  "apps/dashboard/test/on-call.test.ts",
  "test/polyglot/senders.test.ts",
  "test/runtimes/on-node.test.ts",
  "test/simulation/simulation.test.ts",
  "test/chaos/chaos.test.ts",
  "test/chaos/cluster/cluster.test.ts",
  "test/fuzz/fuzz.test.ts",
  "apps/collector/test/transformations/attacks.test.ts",
  "test/deploy/image.test.ts",
  "test/cluster/processes.test.ts",
];

/** The files of a project follow each other, because they share processes and their modules. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = STARTED_FIRST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return place < 0 ? STARTED_FIRST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    // Twice the cores of CI: half of a worker's time goes by while child processes, browsers and disks are waited for.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
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
            // Half of the time of a small file was a start with the same imports.
            isolate: false,
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
