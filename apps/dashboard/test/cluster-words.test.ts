import { describe, expect, test } from "vitest";
import { hasSeveralPartitions, roleOf } from "../src/pages/cluster/member-words.js";

const partitions = (count: number) => ({
  partitions: Array.from({ length: count }, (_, partition) => ({ partition, term: 1 })),
});

describe("the cluster page", () => {
  test.each([
    ["one", 1, false, "Owner"],
    ["two", 2, true, "Owner of 0, 1"],
  ])("names partitions only if there are several: %s", (_, count, isDivided, role) => {
    expect(hasSeveralPartitions(partitions(count))).toBe(isDivided);
    expect(roleOf({ role: "owner", owns: [0, 1].slice(0, count) }, isDivided)).toBe(role);
  });
});
