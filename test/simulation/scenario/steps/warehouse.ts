import type { WarehouseBehaviour } from "../../actors/warehouse.js";
import { aim } from "../aim.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** The warehouse answers in some way for a while, or an administrator changes its destination. */
export interface WarehouseStep {
  readonly kind: "warehouse";
  readonly atMs: number;
  readonly what: WarehouseBehaviour | { readonly kind: "move" | "remove n" | "keep n" | "disable" };
  /** Then it answers as usual again, or is enabled. */
  readonly forMs: number;
}

/** A collector that ended starts again after this time. */
const DOWN_MS = 2_000;

export const warehouseSteps: StepKind<WarehouseStep> = {
  kind: "warehouse",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: scenario.warehouse === undefined ? 0 : random.integer(2, 8) }, () => ({
      kind: "warehouse" as const,
      atMs: aim(random, scenario, lengthMs),
      what: random.pick<WarehouseStep["what"]>([
        { kind: "down" },
        { kind: "down", retryAfterMs: 300_000 },
        { kind: "loses answers" },
        { kind: "sees a crash" },
        { kind: "sees a crash" },
        { kind: "move" },
        { kind: "remove n" },
        { kind: "keep n" },
        { kind: "disable" },
      ]),
      forMs: random.pick([5_000, 60_000, 600_000, 3 * 3_600_000, 6 * 3_600_000]),
    })),
  run({ what, forMs }, { world, collector, warehouse }) {
    if (warehouse === undefined) return;
    const { id, server } = warehouse;
    const patch = (body: object): Promise<unknown> =>
      insist(world, () => collector.api("PATCH", `/destinations/${id}`, body));
    world.note(`warehouse ${what.kind}`);
    switch (what.kind) {
      case "move":
        warehouse.place = `${warehouse.place}+`;
        warehouse.changes.push(world.elapsedMs);
        void patch({ settings: { place: warehouse.place } }).then(() =>
          warehouse.changes.push(world.elapsedMs),
        );
        return;
      case "remove n":
        void patch({ filters: [{ action: { kind: "remove", paths: ["properties.n"] } }] });
        return;
      case "keep n":
        void patch({ filters: [] });
        return;
      case "disable":
        warehouse.wasDisabled = true;
        void patch({ enabled: false }).then(() => world.after(forMs, () => void patch({ enabled: true })));
        return;
      default:
        server.behaviour = what;
        server.onCrash = () => {
          collector.crash();
          world.after(DOWN_MS, () => void collector.start());
        };
        world.after(forMs, () => {
          if (server.behaviour === what) server.behaviour = { kind: warehouse.usual };
        });
    }
  },
};
