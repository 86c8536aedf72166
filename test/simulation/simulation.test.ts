import { describe, expect, it } from "vitest";
import { readOptions } from "./read-options.js";
import { runScenario } from "./run-scenario.js";
import { generate } from "./scenario/generate.js";

describe("the simulated world", () => {
  // Each has a limit of its own: at a load of twenty, ten of them take longer than one test may.
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])("repeats seed %i event by event", async (seed) => {
    const first = await runScenario(generate(seed));
    const second = await runScenario(generate(seed));
    expect(second.traceHash).toBe(first.traceHash);
  });

  it.each([
    ["embedded", 3],
    ["replicated", 1],
  ] as const)("repeats a seed with the %s store", async (store, seeds) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const first = await runScenario(generate(seed, { store }));
      const second = await runScenario(generate(seed, { store }));
      expect(second.traceHash, `seed ${seed}`).toBe(first.traceHash);
    }
  });
});

describe("the command's options", () => {
  it("have defaults, and are read", () => {
    expect(readOptions([])).toMatchObject({ seeds: 100, seed: 1, keepsGoing: false, shrinks: true });
    const args = ["--replay", "4711", "--store", "embedded", "--invariant", "one-outcome", "--no-shrink"];
    const read = { replay: 4711, store: "embedded", invariant: "one-outcome", shrinks: false };
    expect(readOptions(args)).toMatchObject(read);
  });

  // Otherwise, a run would try nothing, and find nothing.
  it.each([
    [["--seeds", "abc"], "--seeds is abc; it must be a whole number from 1"],
    [["--seeds", "0"], "--seeds is 0; it must be a whole number from 1"],
    [["--seed", "1.5"], "--seed is 1.5; it must be a whole number from 1"],
    [["--replay", "-1"], "--replay"],
    [["--store", "disk"], "--store is disk; it must be one of memory, embedded, replicated"],
    [["--invariant", "one-outcom"], "--invariant is one-outcom; it must be one of acknowledged-is-settled,"],
    [["--sedes", "10"], "Unknown option '--sedes'"],
  ])("are refused: %s", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
