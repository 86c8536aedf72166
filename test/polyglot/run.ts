import { pause } from "../chaos/until.ts";
import type { Client } from "./clients.ts";
import { type Findings, restartsOf, tryClient } from "./trials.ts";
import { openWorld } from "./world.ts";

/** How long the collector is away after the last client found it so: it shows how patient they are. */
const AWAY_MS = 10_000;

/** Puts all clients through all trials, side by side, because they mostly wait. */
export async function runTrials(clients: readonly Client[]): Promise<Map<Client, Findings>> {
  const world = await openWorld();
  const sleeper = await openWorld();
  try {
    await sleeper.stop();
    const restarts = restartsOf(clients);
    const refusals: Promise<void>[] = [];
    const isBack = Promise.withResolvers<void>();
    const collectorIsBack = (whenRefused: Promise<void>): Promise<void> => {
      refusals.push(whenRefused);
      if (refusals.length === restarts)
        Promise.all(refusals)
          .then(() => pause(AWAY_MS))
          .then(() => sleeper.start())
          .then(isBack.resolve, isBack.reject);
      return isBack.promise;
    };
    const findings = await Promise.all(
      clients.map(
        async (client) => [client, await tryClient(client, world, sleeper, collectorIsBack)] as const,
      ),
    );
    return new Map(findings);
  } finally {
    await world.close();
    await sleeper.close();
  }
}
