import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copySources, type SourceCopy } from "./planted-bugs/find-planted-bug.js";
import { PLANTED_BUGS } from "./planted-bugs/planted-bugs.js";

let copy: SourceCopy;
beforeAll(() => {
  copy = copySources();
});
afterAll(() => copy.remove());

describe("a planted bug", { timeout: 300_000 }, () => {
  it.each(PLANTED_BUGS)("is found: $name", async (bug) => {
    const { seed, output } = await copy.findAgain(bug);
    expect(seed, output).toBeLessThanOrEqual(bug.withinSeeds);
    expect(output).toContain(`  ${bug.invariant}: `);
  });
});
