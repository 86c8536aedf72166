import { describe, it } from "vitest";
import { expectSeeds } from "./expect-seeds.js";

const FIRST = 201;
const LAST = 400;
const A_TEST = 50;

describe("the promises hold in a simulated world", { timeout: 300_000 }, () => {
  for (let seed = FIRST; seed <= LAST; seed += A_TEST) {
    const last = seed + A_TEST - 1;
    it(`with the seeds ${seed} to ${last}`, () => expectSeeds(seed, last));
  }
});
