import { describe, expect, it } from "vitest";
import type { Condition, Incident } from "../../src/notifications/incidents/incident.js";
import { OtherReports } from "../../src/notifications/incidents/other-partitions.js";
import {
  endingElsewhere,
  mergeConditions,
  type PartitionReport,
  reportOf,
} from "../../src/notifications/incidents/partition-reports.js";

const failing = (sinceMs: number): Condition => ({
  ...{ key: "destination_failing:dst_1", kind: "destination_failing", title: "Shop is failing" },
  ...{ detail: "It answered 503.", destinationId: "dst_1", sinceMs },
});
const disk: Condition = {
  ...{
    key: "disk_low",
    kind: "disk_low",
    title: "The disk is nearly full",
    detail: "1 MB is free.",
    sinceMs: 5,
  },
};
const report = (partition: number, open: Condition[], node = "a"): PartitionReport => ({
  ...{ partition, node, open, ended: [] },
});

describe("what is wrong in several partitions", () => {
  it("is one condition for a destination, since the first time", () => {
    expect(mergeConditions([failing(7)], "a", [report(1, [failing(3)]), report(2, [failing(9)])])).toEqual([
      failing(3),
    ]);
  });

  it("names the partition where only another one has it", () => {
    expect(mergeConditions([], "a", [report(2, [failing(3)])])).toEqual([
      { ...failing(3), detail: "It answered 503. Seen in partition 2." },
    ]);
  });

  it("is one condition for each disk, which several partitions of a process share", () => {
    const reports = [report(1, [disk], "a"), report(2, [disk], "b"), report(3, [disk], "b")];
    const merged = mergeConditions([disk], "a", reports);
    expect(merged.map(({ key, title }) => [key, title])).toEqual([
      ["disk_low", "The disk is nearly full"],
      ["disk_low:b", "The disk of b is nearly full"],
    ]);
  });

  it("ends as it ended in the partition that had it last", () => {
    const { key, ...condition } = failing(3);
    const opened: Incident = { ...condition, state: "open", openedAtMs: 10, isNotified: true };
    const resolved: Incident = { ...opened, state: "resolved", resolvedAtMs: 20, detail: "It works." };
    const ended = { ...report(1, []), ...reportOf(new Map([[key, resolved]])) };
    expect(ended).toEqual({ ...report(1, []), ended: [{ key, atMs: 20, detail: "It works." }] });
    expect(endingElsewhere(key, { openedAtMs: 10 }, [ended])).toBe("It works.");
    // An earlier time that it was wrong there.
    expect(endingElsewhere(key, { openedAtMs: 30 }, [ended])).toBeUndefined();
    expect(reportOf(new Map([[key, opened]])).open).toEqual([failing(3)]);
  });

  it("stays as it was while a partition cannot be asked, and is incomplete until all have answered", async () => {
    const down = new Set([2]);
    const others = new OtherReports({
      ...{ node: "a", partitions: [1, 2] },
      async report(partition) {
        if (down.has(partition)) throw new Error("no owner");
        return report(partition, [failing(partition)]);
      },
    });
    await others.read();
    expect([others.areComplete, others.reports.length]).toEqual([false, 1]);
    down.clear();
    await others.read();
    down.add(1);
    await others.read();
    expect([others.areComplete, others.reports.map(({ open }) => open.length)]).toEqual([true, [1, 1]]);
  });
});
