import type { ApiError } from "../../actors/call-api.js";
import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import type { Cast } from "../cast.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** An administrator limits a source, blocks an event, or sets a tracking plan, and later takes it back. */
export interface SourceStep {
  readonly kind: "source";
  readonly atMs: number;
  readonly source: number;
  readonly what: SourceChange;
  readonly forMs: number;
}

export type SourceChange =
  | { readonly do: "limit"; readonly perSecond: number }
  /** Track events of this name go nowhere. */
  | { readonly do: "block" }
  /** A plan refuses them. */
  | { readonly do: "plan" };

export const RARE_EVENT = "Rare";

const BURST = 12;
const BURST_EVERY_MS = 20;

/** The property is always a number, so every event of this name violates it. */
const PLAN = { track: { [RARE_EVENT]: { type: "object", properties: { n: { type: "string" } } } } };

export const sourceSteps: StepKind<SourceStep> = {
  kind: "source",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.chance(0.4) ? random.integer(1, 2) : 0 }, () => ({
      kind: "source" as const,
      atMs: aim(random, scenario, lengthMs),
      source: random.integer(0, scenario.sources - 1),
      what: anyChange(random),
      forMs: random.pick([5_000, 600_000, 3_600_000]),
    })),
  run({ source, what, forMs }, { world, collector, sources, history, sdks }) {
    const target = sources[source];
    if (target === undefined) return;
    world.note(`source ${source} ${what.do}`);
    const path = `/sources/${target.id}`;
    const patch = (body: object) => () => collector.api("PATCH", path, body);
    if (what.do === "limit") {
      const endLimits = (): void => {
        for (const other of history.limits)
          if (other.sourceId === target.id) other.untilMs = Math.min(other.untilMs, world.elapsedMs);
      };
      const limit = {
        sourceId: target.id,
        perSecond: what.perSecond,
        fromMs: 0,
        untilMs: Number.POSITIVE_INFINITY,
      };
      endLimits();
      void insist(world, patch({ rateLimit: what.perSecond })).then(() => {
        history.limits.push(Object.assign(limit, { fromMs: world.elapsedMs }));
        // More at once than it allows, whichever threads take them.
        const sdk = sdks.find(({ sourceId }) => sourceId === target.id);
        for (let n = 0; n < BURST; n++)
          world.after(n * BURST_EVERY_MS, () =>
            sdk?.sendNow({ userId: "u0", event: "Burst", properties: { n } }),
          );
      });
      world.after(forMs, () => {
        limit.untilMs = world.elapsedMs;
        endLimits();
        void insist(world, patch({ rateLimit: null }));
      });
    } else if (what.do === "block") {
      history.blocking.add(target.id);
      void insist(world, patch({ blockedEvents: [RARE_EVENT] }));
      world.after(forMs, () => void insist(world, patch({ blockedEvents: [] })));
    } else refuse({ world, history, collector }, target.id, forMs);
  },
};

/** A plan of a source refuses an event for a while. */
export function refuse(
  { world, history, collector }: Pick<Cast, "world" | "history" | "collector">,
  sourceId: string,
  forMs: number,
): void {
  const path = `/sources/${sourceId}/plan`;
  const end = { sourceId, atMs: world.elapsedMs + forMs, isDone: false };
  history.ends.push(end);
  void insist(world, () => collector.api("PUT", path, { plan: PLAN, mode: "refuse" })).then(() => {
    const { elapsedMs } = world;
    const isEnding = history.ends.some(
      (one) => one.sourceId === sourceId && one.atMs <= elapsedMs && !one.isDone,
    );
    if (!isEnding) history.refusing.push({ sourceId, fromMs: elapsedMs });
  });
  world.after(forMs, () => {
    void insist(world, () => collector.api("DELETE", path).catch(unlessGone)).then(() => {
      end.isDone = true;
    });
  });
}

function unlessGone(error: unknown): void {
  const { answer } = error as ApiError;
  if (typeof answer === "string" || answer.status !== 404) throw error;
}

function anyChange(random: Random): SourceChange {
  const kind = random.pick(["limit", "limit", "block", "plan"] as const);
  return kind === "limit" ? { do: kind, perSecond: random.pick([0.2, 1, 5]) } : { do: kind };
}
