import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { sourceAliases } from "../../source-aliases.ts";

/** The test files that the run names. */
const files = (process.env.SLUICE_MUTATION_TESTS ?? "").split(",").filter(Boolean);

/** Those named first run first: they state the rules, and a mutant ends with the first test that fails. */
class AsNamed extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      files.findIndex((file) => moduleId.endsWith(`/${file}`));
    return specifications.sort((a, b) => place(a) - place(b));
  }
}

/** Without projects, and in one thread with one set of modules, so that a mutant needs no second start of Vitest. */
export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    include: files,
    sequence: { sequencer: AsNamed },
    maxWorkers: 1,
    isolate: false,
    pool: "threads",
    // A test that waits for what a mutant never does ends by itself: that costs less than a new start.
    testTimeout: Number(process.env.SLUICE_MUTATION_TEST_TIMEOUT ?? 10_000),
    env: { SLUICE_PROPERTY_RUNS: "20" },
  },
});
