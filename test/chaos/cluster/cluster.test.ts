import { describe, expect, it } from "vitest";
import { findNatsServer } from "../../nats/nats-server.ts";
import { runCluster } from "./run-cluster.ts";
import { freezeOwner, killOwner } from "./troubles/collectors.ts";

/** `npm run chaos -- --store replicated` is the long form, with all troubles and other seeds. */
const SEED = 1;

const server = findNatsServer();
if (server.kind === "missing" && process.env.CI !== undefined)
  throw new Error(`On CI this must run: ${server.reason}`);
const title = `keeps its promises${server.kind === "found" ? "" : ` (skipped: ${server.reason})`}`;

describe.skipIf(server.kind === "missing")("a cluster of built collectors on NATS, under load", () => {
  it(title, { timeout: 300_000 }, async () => {
    const troubles = [killOwner, freezeOwner];
    const { rounds } = await runCluster({ troubles, rounds: 1, seed: SEED, isShort: true });
    expect(rounds.map(({ findings }) => findings)).toEqual([[], []]);
    for (const { acknowledged, takeovers } of rounds) {
      expect(acknowledged).toBeGreaterThan(0);
      expect(takeovers).toBeGreaterThan(0);
    }
  });
});
