import { join } from "node:path";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { expect, test } from "vitest";
import { restoreBackup } from "../../src/backups/restore.js";
import { requestBackup } from "../backups/request-backup.js";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { migrationWorld } from "./migration-world.js";

interface Source {
  readonly writeKeys: readonly { readonly key: string }[];
}

const SOURCES = 3;
const newDirectory = temporaryDirectories();

async function startOwner(world: ClusterWorld, node: string): Promise<string> {
  const { url, state } = await world.start(node);
  while (!state.hasOwner) await new Promise((resolve) => setTimeout(resolve, 10));
  return url;
}

async function load(url: string, { writeKeys }: Source, userId: string): Promise<void> {
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKeys[0]?.key}:`)}` },
    body: JSON.stringify({ batch: [{ type: "track", event: "Load", userId }] }),
  });
  expect(response.status).toBe(200);
}

/** The answer waits until everything before it is counted. */
async function loadsOf(url: string, userId: string): Promise<unknown> {
  const { computedTraits } = (await api(url, "GET", `/profiles/${userId}`)) as { computedTraits: object };
  return computedTraits;
}

async function membersOf(url: string, audienceId: string): Promise<unknown[]> {
  const { items } = (await api(url, "GET", `/audiences/${audienceId}/members`)) as {
    items: { userId: string }[];
  };
  return items.map(({ userId }) => userId).sort();
}

test("a restored backup counts on in a new cluster", async () => {
  await using old = await clusterWorld();
  const oldUrl = await startOwner(old, "a");
  const sources: Source[] = [];
  for (let number = 0; number < SOURCES; number++)
    sources.push((await api(oldUrl, "POST", "/sources", { name: `source ${number}` })) as Source);
  await api(oldUrl, "POST", "/computed-traits", { name: "Loads", kind: "count", event: "Load" });
  const { id: audienceId } = (await api(oldUrl, "POST", "/audiences", {
    ...{ name: "Loaders", condition: { kind: "event", event: "Load", times: { atLeast: SOURCES } } },
  })) as { readonly id: string };
  for (const source of sources) await load(oldUrl, source, "fa");
  expect(await loadsOf(oldUrl, "fa")).toEqual({ loads: SOURCES });
  const directory = join(newDirectory(), "restored");
  await restoreBackup({ from: await requestBackup(oldUrl, ADMIN_TOKEN), directory });

  await using restored = await clusterWorld();
  const { run } = migrationWorld(restored.engines);
  expect(await run("in", directory)).toMatchObject({ kind: "done" });
  const url = await startOwner(restored, "a");
  for (const userId of ["fa", "new"]) for (const source of sources) await load(url, source, userId);
  expect(await loadsOf(url, "fa")).toEqual({ loads: 2 * SOURCES });
  expect(await loadsOf(url, "new")).toEqual({ loads: SOURCES });
  expect(await membersOf(url, audienceId)).toEqual(["fa", "new"]);

  // Another process begins with an empty folder, and takes over.
  await restored.stop("a");
  const after = await startOwner(restored, "b");
  await load(after, sources[0] as Source, "new");
  expect(await loadsOf(after, "new")).toEqual({ loads: SOURCES + 1 });
});
