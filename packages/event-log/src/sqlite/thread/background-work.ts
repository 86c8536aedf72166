import type { ConsumerTables } from "../consumers/consumer-tables.js";
import type { Segments } from "../index/segments.js";
import type { Retention } from "../retention/retention.js";

/** Background work, in steps. */
export interface BackgroundWork {
  isWaiting(): boolean;
  /** Returns about how many bytes it wrote. */
  step(): number;
  /** Called after a step met damaged data and was undone. `goes on`: there is other work to do. */
  onUndone(): "goes on" | "rests";
}

/** The most urgent work first. */
export function backgroundWork(
  segments: Segments,
  retention: Retention,
  consumers: ConsumerTables,
): BackgroundWork[] {
  return [
    {
      isWaiting: () => segments.hasWork,
      step: () => segments.workNext(),
      onUndone() {
        segments.sealAnew();
        return "rests";
      },
    },
    {
      isWaiting: () => retention.hasWork,
      step: () => retention.workNext(),
      onUndone() {
        retention.leaveCurrent();
        return "goes on";
      },
    },
    {
      isWaiting: () => consumers.hasWork,
      step: () => consumers.deleteNext(),
      onUndone: () => "rests",
    },
  ];
}
