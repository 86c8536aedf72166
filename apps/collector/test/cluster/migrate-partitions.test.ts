import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStore } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { systemClock } from "@sluice/resilience";
import { describe, expect, test } from "vitest";
// @boundaries-ignore batches of messages as the store's tests make them
import { idsBatch } from "../../../../packages/event-log/test/batches.js";
import type { MigrateOptions, MigrationReport } from "../../src/cluster/migrate.js";
import { agreeOnPartitions } from "../../src/cluster/partitions/partition-count.js";
import { writePartitionsMark } from "../../src/process/partition-folders.js";
import type { ClusterConfig } from "../../src/process/settings/cluster-settings.js";
import { api, clusterWorld } from "./cluster-world.js";
import { migrationWorld as world } from "./migration-world.js";

const newDirectory = temporaryDirectories();

/** A data folder with as many messages as asked, and a source of a partition. */
async function dataFolder(directory: string, name: string, messages: number, partition = 0): Promise<void> {
  await mkdir(directory, { recursive: true });
  const store = await openSqliteStore({ directory, clock: systemClock });
  const ids = Array.from({ length: messages }, (_, index) => `${name}-${index}`);
  await store.log.append(idsBatch(ids));
  await store.config.put("source", "src_1", { name: "Source", writeKeys: [], partition });
  await store.close();
}

async function partitionFolders(counts: readonly number[]): Promise<string> {
  const directory = newDirectory();
  for (const [partition, count] of counts.entries())
    await dataFolder(join(directory, `partition-${partition}`), `p${partition}`, count, 1);
  await writePartitionsMark(directory, { partitions: counts.length });
  return directory;
}

const messages = ({ contents }: MigrationReport) =>
  contents
    .filter(({ what }) => what === "messages")
    .map(({ partition, source, result, isEqual }) => [partition, source.count, result.count, isEqual]);

/** Aborts at the first progress that fits. */
function endedAt(fits: (progress: Parameters<MigrateOptions["onProgress"]>[0]) => boolean) {
  const over = new AbortController();
  return {
    signal: over.signal,
    onProgress(progress: Parameters<MigrateOptions["onProgress"]>[0]) {
      if (fits(progress)) over.abort(new Error("ended here"));
    },
  };
}

describe("a migration of several partitions", () => {
  test("moves each partition in and out again, compared and resumed", async () => {
    const { run, kept } = world();
    const from = await partitionFolders([1, 2, 3]);
    // It ends in the middle: no process may begin the logs that are still empty.
    const half = endedAt(({ partition, step }) => partition === 1 && step === "upload");
    await expect(run("in", from, 3, half)).rejects.toThrow("ended here");
    const { leases } = kept(0);
    await expect(agreeOnPartitions(leases, "test", 3, async () => false)).rejects.toThrow(
      /migration into the cluster "test" is not finished.*sluice migrate/,
    );
    await expect(run("in", await partitionFolders([1, 1, 1]), 3)).rejects.toThrow(
      /another data folder|has data/,
    );
    const moved = await run("in", from, 3);
    expect(moved).toMatchObject({ kind: "done", partitions: 3 });
    expect(messages(moved)).toEqual([
      [0, 1, 1, true],
      [1, 2, 2, true],
      [2, 3, 3, true],
    ]);
    expect(await agreeOnPartitions(leases, "test", 3, async () => false)).toEqual({
      count: 3,
      areMade: true,
    });
    expect((await run("in", from, 3)).kind).toBe("done before");

    const to = join(newDirectory(), "back");
    const halfOut = endedAt(({ partition, step }) => partition === 1 && step === "check");
    await expect(run("out", to, 3, halfOut)).rejects.toThrow("ended here");
    await expect(run("in", to, 3)).rejects.toThrow(/out of a cluster did not finish/);
    const back = await run("out", to, 3);
    expect(messages(back)).toEqual(messages(moved));
    expect((await readdir(to)).sort()).toEqual([
      "partition-0",
      "partition-1",
      "partition-2",
      "partitions.json",
    ]);
    // The same checksums as where it came from.
    expect(back.contents.map(({ result }) => result)).toEqual(moved.contents.map(({ source }) => source));
    const again = world();
    expect((await again.run("in", to, 3)).kind).toBe("done");
    await expect(run("out", to, 3)).rejects.toThrow(/is not empty \(it has partition-0/);
  });

  test("refuses another number of partitions, and the folder of one of them", async () => {
    const { run } = world();
    const from = await partitionFolders([1, 1]);
    await expect(run("in", from, 3)).rejects.toThrow(
      /has the data of 2 partitions, and clusterPartitions is 3.*set SLUICE_CLUSTER_PARTITIONS to 2/,
    );
    await expect(run("in", join(from, "partition-1"), 2)).rejects.toThrow(/is of one partition of a cluster/);
    await run("in", from, 2);
    const alone = newDirectory();
    await dataFolder(alone, "alone", 1);
    await expect(run("in", alone, 1)).rejects.toThrow(/has 2 partitions: set SLUICE_CLUSTER_PARTITIONS to 2/);
    await expect(run("in", alone, 2)).rejects.toThrow(/has data already/);
  });

  test("does not go on with a folder after the cluster was used", async () => {
    const { run, kept } = world();
    await run("in", await partitionFolders([1, 1]), 2);
    const to = join(newDirectory(), "back");
    await expect(
      run(
        "out",
        to,
        2,
        endedAt(({ partition }) => partition === 1),
      ),
    ).rejects.toThrow("ended here");
    await kept(0).log.append(Buffer.from("an entry"), (await kept(0).log.bounds()).last);
    await expect(run("out", to, 2)).rejects.toThrow(/partition 0 went on after it was read.*remove/);
    expect(await readdir(to)).toContain("partitions.json");
  });

  test("moves a plain folder into the first partition, where its sources stay", async () => {
    const cluster = await clusterWorld();
    try {
      const alone = newDirectory();
      await dataFolder(alone, "alone", 4);
      const { run } = world(cluster.engines);
      expect(await run("in", alone, 2)).toMatchObject({ kind: "done", partitions: 1 });
      expect((await run("in", alone, 2)).kind).toBe("done before");
      const node = await cluster.start("a", {}, { partitions: 2 });
      while (!node.state.hasOwner) await new Promise((resolve) => setTimeout(resolve, 10));
      const listed = (await api(node.url, "GET", "/messages")) as { items: unknown[] };
      expect(listed.items).toHaveLength(4);
      expect(await api(node.url, "POST", "/sources", { name: "another one" })).toMatchObject({
        partition: 1,
      });
      const patient = { clusterName: "test", clusterPartitions: 2, clusterLeaseMs: 1_500 } as ClusterConfig;
      await expect(run("out", join(newDirectory(), "out"), 2, { config: patient })).rejects.toThrow(
        /The collector "a".*owns the cluster "test". Stop all/,
      );
    } finally {
      await cluster[Symbol.asyncDispose]();
    }
  });
});
