import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStore } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { systemClock } from "@sluice/resilience";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BackupFolder } from "../../src/backups/backup-folder.js";
import { restoreBackup } from "../../src/backups/restore.js";
import { startCollector } from "../../src/collector.js";
import { DELETION, type DeletionDocument } from "../../src/deletions/deletion.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { requestBackup } from "../backups/request-backup.js";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld, SECRET_KEY } from "./cluster-world.js";
import { migrationWorld } from "./migration-world.js";

interface Source {
  readonly id: string;
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}

const newDirectory = temporaryDirectories();
const PARTITIONS = 3;
let world: ClusterWorld;
let sources: readonly Source[];

const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";

function send(source: Source, messageId: string, url = urlOf("b")): Promise<void> {
  return post(source, { type: "track", event: "Ordered", userId: `user-${messageId}`, messageId }, url);
}

async function post(source: Source, message: object, url = urlOf("b")): Promise<void> {
  const writeKey = source.writeKeys[0]?.key ?? "";
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ writeKey, batch: [message] }),
  });
  expect(response.status).toBe(200);
}

async function owned(): Promise<void> {
  while (![...world.nodes().values()].some(({ state }) => state.hasOwner))
    await new Promise((resolve) => setTimeout(resolve, 10));
}

async function messagesIn(directory: string): Promise<number> {
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    return store.stats().messages;
  } finally {
    await store.close();
  }
}

/** The ids of each user whose deletion has not ended. */
async function deletedIn(directory: string): Promise<readonly (readonly string[])[]> {
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    const deletions = await store.config.list<DeletionDocument>(DELETION);
    return deletions.flatMap(({ value }) => (value.users ?? []).map(({ identities }) => identities));
  } finally {
    await store.close();
  }
}

beforeAll(async () => {
  world = await clusterWorld();
  for (const node of ["a", "b"]) await world.start(node, {}, { partitions: PARTITIONS });
  await owned();
  const made: Source[] = [];
  for (let number = 0; number < PARTITIONS; number++)
    made.push((await api(urlOf("a"), "POST", "/sources", { name: `source ${number}` })) as Source);
  sources = made;
}, 60_000);

afterAll(() => world[Symbol.asyncDispose]());

/** Moves restored folders into a cluster, which then has the messages and takes more. */
async function inANewCluster(directory: string, messages: number): Promise<void> {
  const restored = await clusterWorld();
  try {
    const { run } = migrationWorld(restored.engines);
    expect(await run("in", directory, PARTITIONS)).toMatchObject({ kind: "done", partitions: PARTITIONS });
    const { url, state } = await restored.start("a", {}, { partitions: PARTITIONS });
    while (!state.hasOwner) await new Promise((resolve) => setTimeout(resolve, 10));
    const listed = (await api(url, "GET", "/messages")) as { items: unknown[] };
    expect(listed.items).toHaveLength(messages);
    for (const source of sources) await send(source, `new-of-${source.partition}`, url);
    const found = (await api(url, "GET", "/sources")) as { items: { partition: number }[] };
    expect(found.items.map(({ partition }) => partition).sort()).toEqual([0, 1, 2]);
  } finally {
    await restored[Symbol.asyncDispose]();
  }
}

describe("a backup of a cluster of several partitions", () => {
  const target = newDirectory();
  const folder = new BackupFolder(join(target, "backups"));
  const back = () => folder.take((known) => requestBackup(urlOf("a"), ADMIN_TOKEN, known));

  test("holds every partition, and later backups copy what has changed", async () => {
    for (const [number, source] of sources.entries())
      for (let index = 0; index <= number; index++) await send(source, `m-${number}-${index}`);
    const { manifest, copiedBytes } = await back();
    expect(manifest.format).toBe(2);
    expect(manifest.counts).toMatchObject({ messages: 6, documents: { source: PARTITIONS } });
    expect(manifest.partitions?.map(({ counts }) => counts.messages)).toEqual([1, 2, 3]);
    const databases = manifest.files.filter(({ name }) => name === "sluice.db");
    expect(databases.map(({ partition }) => partition)).toEqual([0, 1, 2]);
    expect(copiedBytes).toBeGreaterThan(0);
    await send(sources[0] as Source, "later");
    expect((await back()).manifest.counts.messages).toBe(7);
    expect((await folder.verify()).backups.map(({ bad }) => bad)).toEqual([[], []]);
  });

  test("repeats deletions that later backups know in the part of each partition", async () => {
    await send(sources[1] as Source, "m-of-deleted");
    // The visitor's messages are in another partition than those that name the user.
    await post(sources[2] as Source, { type: "track", event: "Seen", anonymousId: "visitor" });
    const userId = "user-m-of-deleted";
    await post(sources[1] as Source, { type: "identify", userId, anonymousId: "visitor" });
    await api(urlOf("a"), "POST", "/deletions", { userIds: [userId], dryRun: true });
    const before = await back();
    const { id } = (await api(urlOf("a"), "POST", "/deletions", { userIds: ["user-m-of-deleted"] })) as {
      id: string;
    };
    for (;;) {
      const found = (await api(urlOf("a"), "GET", `/deletions/${id}`)) as { status: string };
      if (found.status === "finished") break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await back();
    const directory = join(newDirectory(), "restored");
    const report = await restoreBackup({
      ...{ from: folder.path, directory },
      backupId: before.manifest.id,
      secretKey: SECRET_KEY,
    });
    expect(report).toMatchObject({ deletions: { repeated: 1, withoutKey: 0 }, isNewest: false });
    for (const number of sources.keys())
      expect(await deletedIn(join(directory, `partition-${number}`)), `partition ${number}`).toEqual([
        ["u:user-m-of-deleted", "a:visitor"],
      ]);
  }, 30_000);

  test("is restored into a folder for each partition, which no collector takes for its own", async () => {
    const directory = join(newDirectory(), "restored");
    const [oldest] = (await folder.list()).manifests;
    await restoreBackup({
      ...{ from: folder.path, directory, secretKey: SECRET_KEY },
      ...(oldest === undefined ? {} : { backupId: oldest.id }),
    });
    expect((await readdir(directory)).sort()).toEqual([
      ...["partition-0", "partition-1", "partition-2"],
      "partitions.json",
    ]);
    const counts: number[] = [];
    for (const number of sources.keys())
      counts.push(await messagesIn(join(directory, `partition-${number}`)));
    expect(counts).toEqual([1, 2, 3]);
    await expect(
      startCollector({
        ...{ mode: "production", host: "127.0.0.1", port: 0, dataDirectory: directory },
        ...{ logger: createLogger({ write() {} }), adminToken: ADMIN_TOKEN, secretKey: SECRET_KEY },
      }),
    ).rejects.toThrow(/has a data folder for each partition of a cluster.*sluice migrate/);
    await inANewCluster(directory, 6);
  }, 30_000);

  test("is refused when a piece of one partition is damaged", async () => {
    const archive = await requestBackup(urlOf("b"), ADMIN_TOKEN, "");
    const damaged = new BackupFolder(join(newDirectory(), "damaged"));
    const { manifest } = await damaged.take(async () => archive);
    const hash = manifest.files.find(({ partition }) => partition === 2)?.pieces[0] ?? "";
    const piece = join(damaged.path, "pieces", hash.slice(0, 2), hash);
    const bytes = await readFile(piece);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    await writeFile(piece, bytes);
    const directory = join(newDirectory(), "restored");
    await expect(restoreBackup({ from: damaged.path, directory })).rejects.toThrow(/a checksum is wrong/);
  });

  test("is refused without a token", async () => {
    const unknown = await fetch(`${urlOf("a")}/api/v1/backups`, { method: "POST" });
    expect(unknown.status).toBe(401);
    await unknown.body?.cancel();
  });
});
