import { defineConfig } from "vitest/config";
import { sourceAliases } from "../../source-aliases.ts";

/** The test files that the run names, without projects, so that a mutant needs no second start of Vitest. */
export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    include: (process.env.SLUICE_MUTATION_TESTS ?? "").split(",").filter(Boolean),
    maxWorkers: 1,
    testTimeout: 30_000,
  },
});
