import { GOOD_DISK } from "../../world/disk.js";
import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** The collector's disk is slow, or fails every write, for a while. */
export interface DiskStep {
  readonly kind: "disk";
  readonly atMs: number;
  readonly forMs: number;
  /** Absent: it fails. */
  readonly syncMs?: number;
}

export const diskSteps: StepKind<DiskStep> = {
  kind: "disk",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.chance(0.25) ? random.integer(1, 3) : 0 }, () => ({
      kind: "disk" as const,
      atMs: aim(random, scenario, lengthMs),
      forMs: random.pick([200, 5_000, 120_000]),
      ...(random.chance(0.5) ? { syncMs: random.pick([20, 300, 3_000]) } : {}),
    })),
  run({ forMs, syncMs }, { world, disk }) {
    const health =
      syncMs === undefined ? { ...GOOD_DISK, fails: true } : { syncMs: [0, syncMs] as const, fails: false };
    disk.health = health;
    world.note(`disk ${syncMs === undefined ? "fails" : "is slow"}`);
    world.after(forMs, () => {
      if (disk.health === health) disk.health = GOOD_DISK;
    });
  },
};
