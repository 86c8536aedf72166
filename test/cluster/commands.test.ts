import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ADMIN_TOKEN,
  api,
  type ClusterWorld,
  clusterWorld,
  SECRET_KEY,
} from "../../apps/collector/test/cluster/cluster-world.js";
import { cli } from "../../packages/cli/test/support/cli.js";

let world: ClusterWorld;
let folder: string;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-cluster-commands-"));
  world = await clusterWorld();
  await world.start("a");
  await world.owner(["a"]);
  // The command line talks to a follower.
  ({ url } = await world.start("b"));
  for (;;) {
    const { members } = (await api(url, "GET", "/cluster")) as { members: { isReady: boolean }[] };
    if (members.filter(({ isReady }) => isReady).length === 2) break;
  }
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function sluice(...args: string[]) {
  const env = { SLUICE_URL: url, SLUICE_TOKEN: ADMIN_TOKEN, SLUICE_SECRET_KEY: SECRET_KEY };
  const command = cli(args, { cwd: folder, env, columns: 200 });
  return { code: await command.code, out: command.out(), err: command.err() };
}

describe("sluice cluster", () => {
  test("status shows owner, followers and copies", async () => {
    const { code, out } = await sluice("cluster", "status");
    expect(code).toBe(0);
    expect(out).toMatch(/^cluster test\nowner a, term 1\n/);
    expect(out).toMatch(/^a +owner +ready +none +\S+ +http:\/\/127/m);
    expect(out).toMatch(/^b +follower +ready /m);
    const { out: json } = await sluice("cluster", "status", "--json");
    expect(JSON.parse(json)).toMatchObject({ name: "test", owner: { node: "a" } });
  });

  test("drain hands over, keeps the last process, and can be cancelled", async () => {
    expect(await sluice("cluster", "drain", "a")).toMatchObject({ code: 0, out: "a is drained\n" });
    await world.owner(["b"]);
    expect((await sluice("cluster", "status")).out).toMatch(/^a +follower +drained, ready /m);
    const refused = await sluice("cluster", "drain", "b");
    expect([refused.code, refused.err]).toEqual([
      expect.any(Number),
      expect.stringContaining("only process"),
    ]);
    expect(refused.code).not.toBe(0);
    expect((await sluice("cluster", "drain", "nobody")).err).toContain("no process named nobody");
    expect(await sluice("cluster", "drain", "a", "--cancel")).toMatchObject({ code: 0 });
    expect((await sluice("cluster", "status")).out).toMatch(/^a +follower +ready /m);
  });

  test("a backup of the cluster is restored into the folder of a collector on its own", async () => {
    await api(url, "POST", "/sources", { name: "kept in the backup" });
    expect(await sluice("backup", "a.tar")).toMatchObject({ code: 0 });
    const restored = await sluice("restore", "a.tar", "--data-dir", "restored");
    expect([restored.code, restored.err]).toEqual([0, expect.anything()]);
    const alone = cli(["collector", "--json", "--port", "0", "--data-dir", "restored"], {
      cwd: folder,
      env: { SLUICE_ADMIN_TOKEN: ADMIN_TOKEN, SLUICE_SECRET_KEY: SECRET_KEY },
    });
    await alone.printed(/"url"/);
    const { items } = (await api(JSON.parse(alone.out()).url, "GET", "/sources")) as {
      items: { name: string }[];
    };
    expect(items.map(({ name }) => name)).toContain("kept in the backup");
    alone.interrupt();
    expect(await alone.code).toBe(0);
  });

  test("a collector on its own says that there is no cluster, and does not use a cluster's folder", async () => {
    const alone = cli(["collector", "--json", "--port", "0", "--data-dir", "alone"], {
      cwd: folder,
      env: { SLUICE_ADMIN_TOKEN: ADMIN_TOKEN },
    });
    await alone.printed(/"url"/);
    await expect(api(JSON.parse(alone.out()).url, "GET", "/cluster")).rejects.toThrow("runs on its own");
    alone.interrupt();
    await alone.code;
    const wrong = cli(["collector", "--port", "0", "--data-dir", world.folderOf("a")], { cwd: folder });
    expect(await wrong.code).not.toBe(0);
    expect(wrong.err()).toContain("belongs to a collector of a cluster");
  });
});
