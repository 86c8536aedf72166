import { join } from "node:path";
import { pause, until } from "../until.ts";
import type { Trouble } from "./trouble.ts";

export const killSdk: Trouble = {
  name: "kill-sdk",
  title: "kill -9 of an application",
  stores: ["embedded", "memory"],
  needs: [],
  async strike({ world, sdks }) {
    await sdks[0]?.kill9();
    sdks[0] = world.startSdk();
  },
};

/** The collector is out of reach, so the SDK writes to its spool, and is killed there, or while it empties the spool. */
export const killSdkWithSpool: Trouble = {
  name: "kill-sdk-spool",
  title: "kill -9 of an application with a spool, and no collector",
  stores: ["embedded", "memory"],
  needs: [],
  startSdk: (world, index) =>
    world.startSdk({ maxRetries: 1, spool: { directory: join(world.folder, `spool-${index}`) } }),
  async strike({ world, random, sdks }) {
    const [sdk] = sdks;
    const run = world.ledger.runs.get(sdk?.run ?? "");
    if (sdk === undefined || run === undefined) return;
    world.front.setMode("reset");
    const before = run.tracked;
    await until("the SDK says that messages are on disk", () => run.keptBelow > before);
    await pause(random.integer(0, 300));
    await sdk.kill9();
    world.front.setMode("pass");
    const again = (): void => {
      sdks[0] = killSdkWithSpool.startSdk?.(world, 0) ?? sdk;
    };
    again();
    if (random.next() < 0.5) {
      await pause(random.integer(50, 600));
      await sdks[0]?.kill9();
      again();
    }
  },
};
