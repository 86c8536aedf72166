import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { threadLimits } from "../../src/node/thread-limits.js";

afterEach(() => setFlagsFromString("--max-semi-space-size=0"));

test("a thread keeps to its room for short-lived objects, whatever the process was started with", async () => {
  setFlagsFromString("--max-semi-space-size=64");
  const thread = new Worker(
    `const v8 = require("node:v8");
     const kept = [];
     let most = 0;
     for (let i = 0; i < 3_000_000; i++) {
       kept[i % 100_000] = { i, list: [i] };
       if (i % 50_000 === 0) {
         const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
         most = Math.max(most, young.physical_space_size);
       }
     }
     require("node:worker_threads").parentPort.postMessage(most);`,
    { eval: true, resourceLimits: threadLimits({ youngMb: 12, oldMb: 256 }) },
  );
  const [most] = await once(thread, "message");
  await once(thread, "exit");
  expect(most).toBeGreaterThan(0);
  // A busy machine frees pages late: some more than the limit, and far from what the process was started with.
  expect(most).toBeLessThanOrEqual(24 * 1_024 * 1_024);
});

test("a thread that needs more room than it has ends alone, and says why", async () => {
  const thread = new Worker("const kept = []; for (;;) kept.push({ kept: [kept.length] });", {
    eval: true,
    resourceLimits: threadLimits({ youngMb: 8, oldMb: 16 }),
  });
  let why: unknown;
  thread.on("error", (error) => {
    why = error;
  });
  await new Promise((resolve) => thread.once("exit", resolve));
  expect(why).toMatchObject({ code: "ERR_WORKER_OUT_OF_MEMORY" });
});
