import { openMemoryEngines } from "@sluice/event-log/testing";
import type { ClusterEngine } from "../../src/cluster/cluster-options.js";
import { type MigrateOptions, type MigrationReport, migrate } from "../../src/cluster/migrate.js";
import type { ClusterConfig } from "../../src/process/settings/cluster-settings.js";
import { SECRET_KEY } from "./cluster-world.js";

/** Runs `sluice migrate` on engines in memory. */
export function migrationWorld(engines = openMemoryEngines()) {
  const kept = (): ClusterEngine => {
    const engine = engines.engineFor("migration");
    const { log, leases, snapshots } = engine;
    return {
      ...{ log, leases, snapshots, cluster: { id: "c1" }, close: async () => {} },
      health: () => engine.health(),
      onHealth: (listener) => engine.onHealth(listener),
    };
  };
  const run = (
    direction: "in" | "out",
    directory: string,
    over: Partial<MigrateOptions> = {},
  ): Promise<MigrationReport> =>
    migrate({
      ...{ direction, directory, secretKey: SECRET_KEY, signal: new AbortController().signal },
      config: { clusterName: "test", clusterLeaseMs: 50 } as ClusterConfig,
      onProgress() {},
      openEngine: async () => kept(),
      ...over,
    });
  return { engines, kept, run };
}
