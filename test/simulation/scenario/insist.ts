import type { World } from "../world/world.js";

const AGAIN_AFTER_MS = 60_000;

/** Repeats a call of the control API until it succeeds: the collector may be down, or its disk may fail. */
export async function insist<T>(world: World, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch {
      await new Promise<void>((resolve) => world.after(AGAIN_AFTER_MS, resolve));
    }
  }
}
