import { aim } from "../aim.js";
import { DROPS_ODD, enabling } from "../cast.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** An administrator changes a destination. */
export interface SettingsStep {
  readonly kind: "settings";
  readonly atMs: number;
  readonly destination: number;
  readonly change: "disable" | "rename" | "save webhooks" | "move" | "drop odd" | "drop nothing";
  /** When a disabled destination is enabled again. */
  readonly forMs: number;
}

export const settingsSteps: StepKind<SettingsStep> = {
  kind: "settings",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.chance(0.4) ? random.integer(1, 3) : 0 }, () => ({
      kind: "settings" as const,
      atMs: aim(random, scenario, lengthMs),
      destination: random.integer(0, scenario.destinations.length - 1),
      change: random.pick([
        "disable",
        "rename",
        "save webhooks",
        "move",
        "drop odd",
        "drop nothing",
      ] as const),
      forMs: random.pick([1_000, 600_000]),
    })),
  run({ destination, change, forMs }, { world, collector, destinations }) {
    const target = destinations[destination];
    if (target === undefined) return;
    const patch = (body: object, onDone: () => void = () => {}): void => {
      // A collector that is down refuses it, and a crash leaves it without an answer. Both are an administrator's everyday life.
      collector.api("PATCH", `/destinations/${target.id}`, body).then(onDone, () => {});
    };
    world.note(`${target.plan.name} ${change}`);
    if (change === "rename") patch({ name: `${target.plan.name} ${world.elapsedMs}` });
    else if (change === "save webhooks")
      patch({ settings: { webhooks: target.urls.slice(-target.plan.urls).map((url) => ({ url })) } });
    else if (change === "move") {
      // Its webhooks have other URLs from now on. Those take everything.
      const moved = Array.from(
        { length: target.plan.urls },
        (_, index) => `https://${target.plan.name}-${target.urls.length + index}.example/`,
      );
      const before = [...target.urls];
      target.urls.push(...moved);
      patch({ settings: { webhooks: moved.map((url) => ({ url })) } }, () => {
        target.left.push({ urls: before, fromMs: world.elapsedMs });
      });
    } else if (change === "drop odd") {
      target.droppedOdd = true;
      patch({ filters: DROPS_ODD });
    } else if (change === "drop nothing") patch({ filters: [] });
    else {
      const { enablings } = target;
      patch({ enabled: false }, () => {
        // Two changes that waited for an owner together may be carried out in any order.
        if (target.enablings === enablings)
          target.off.push({ fromMs: world.elapsedMs, untilMs: Number.POSITIVE_INFINITY });
      });
      target.wasDisabled = true;
      const enable = (): Promise<unknown> => {
        enabling(target, world.elapsedMs);
        return collector.api("PATCH", `/destinations/${target.id}`, { enabled: true });
      };
      world.after(forMs, () => void insist(world, enable));
    }
  },
};
