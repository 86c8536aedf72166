import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { faketimeLibrary } from "../disk/may.ts";
import { until } from "../until.ts";
import type { World } from "../world.ts";
import type { Trouble } from "./trouble.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
/** Wall clock times compared with the real one. */
const OFFSETS_S = [
  2 * MINUTE_S,
  HOUR_S,
  5 * HOUR_S,
  26 * HOUR_S,
  40 * DAY_S,
  -MINUTE_S,
  -HOUR_S,
  -3 * DAY_S,
  0,
];
const MESSAGES_BETWEEN = 20;

const clockFile = (world: World): string => join(world.folder, "clock");

/** libfaketime reads the file at each look at the wall clock. The monotonic clock stays as it is, as on a machine whose clock is set. */
function setClock(world: World, offsetS: number): void {
  const file = clockFile(world);
  writeFileSync(`${file}.new`, `${offsetS < 0 ? "" : "+"}${offsetS}\n`);
  renameSync(`${file}.new`, file);
}

export const clockJumps: Trouble = {
  name: "clock",
  title: "the wall clock jumps forward and back, by minutes to weeks",
  stores: ["embedded", "memory"],
  needs: ["faketime"],
  async startRound({ world }) {
    if (world.destinationIds.size > 0) return;
    setClock(world, 0);
    await world.startCollector({
      env: {
        LD_PRELOAD: faketimeLibrary() ?? "",
        FAKETIME_TIMESTAMP_FILE: clockFile(world),
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
  },
  async strike({ world, random, isShort }) {
    for (let jumps = isShort ? 3 : random.integer(2, 6); jumps > 0; jumps--) {
      setClock(world, random.pick(OFFSETS_S));
      const before = world.ledger.acknowledged.size;
      await until(
        "messages are stored at the new time",
        () => world.ledger.acknowledged.size > before + MESSAGES_BETWEEN,
      );
    }
  },
};
