import { describe, expect, it } from "vitest";
import { readOptions } from "./read-options.js";
import { runScenario } from "./run-scenario.js";
import { generate } from "./scenario/generate.js";

const STORES = ["memory", "embedded", "replicated"] as const;

describe("the simulated world", () => {
  it.each(STORES.flatMap((store) => [1, 2, 3].map((seed) => ({ store, seed }))))(
    "repeats seed $seed event by event with the $store store",
    async ({ store, seed }) => {
      const first = await runScenario(generate(seed, { store }));
      const second = await runScenario(generate(seed, { store }));
      expect(second.traceHash).toBe(first.traceHash);
    },
  );
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
