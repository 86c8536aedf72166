import { setTimeout as sleep } from "node:timers/promises";

const STEP_MS = 100;

/** Lets the collector's clock run beside the machine's, until a page has loaded and drawn what it shows. */
export async function settle({ advance }, ms = 1_500) {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await advance(STEP_MS);
    await sleep(STEP_MS);
  }
}
