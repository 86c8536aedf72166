import type { ProxyMode, TcpProxy } from "../network/tcp-proxy.ts";
import { pause } from "../until.ts";
import type { Trouble } from "./trouble.ts";

async function strikeWith(proxy: TcpProxy, mode: ProxyMode, forMs: number): Promise<void> {
  proxy.setMode(mode);
  await pause(forMs);
  proxy.setMode("pass");
}

export const resets: Trouble = {
  name: "resets",
  title: "connections are reset, before and behind the collector",
  stores: ["embedded", "memory"],
  needs: [],
  async strike({ world, random, isShort }) {
    for (let times = isShort ? 5 : random.integer(3, 20); times > 0; times--) {
      const proxy = random.pick([world.front, world.back]);
      // One moment, or a while in which nobody gets through.
      if (random.next() < 0.7) proxy.resetAll();
      else await strikeWith(proxy, "reset", random.integer(10, isShort ? 200 : 1_000));
      await pause(random.integer(5, 100));
    }
  },
};

const LONGEST_MS = 7_000;
const LONGEST_SHORT_MS = 1_500;

export const blackHoles: Trouble = {
  name: "black-holes",
  title: "black holes: bytes, or only answers, vanish",
  stores: ["embedded", "memory"],
  needs: [],
  async strike({ world, random, isShort }) {
    const forMs = (): number => random.integer(50, isShort ? LONGEST_SHORT_MS : LONGEST_MS);
    await Promise.all([
      strikeWith(world.front, random.pick(["black_hole", "deaf"]), forMs()),
      strikeWith(world.back, random.pick(["black_hole", "deaf"]), forMs()),
    ]);
  },
};

/** A webhook has 5 s. */
const TOO_SLOW_MS = 6_000;

export const slowReceivers: Trouble = {
  name: "slow-receivers",
  title: "slow receivers, some of them beyond the 5 s that a webhook has",
  stores: ["embedded", "memory"],
  needs: [],
  async strike({ world, random, isShort }) {
    const slowMs = random.integer(50, 500);
    world.receiver.delayMs = (destination) =>
      destination === "plain" && random.next() < 0.02 ? TOO_SLOW_MS : random.integer(0, slowMs);
    await pause(isShort ? 1_000 : random.integer(1_000, 4_000));
    world.receiver.delayMs = () => 0;
  },
};
