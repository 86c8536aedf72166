import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackupFolder, createLogger, startCollector } from "@sluice/collector";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { cli, collectorForCli } from "../support/cli.js";

let collector: Awaited<ReturnType<typeof collectorForCli>>;
let folder: string;
beforeAll(async () => {
  collector = await collectorForCli();
  folder = await mkdtemp(join(tmpdir(), "sluice-backup-"));
});
afterAll(async () => {
  await collector[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function track(userId: string, messageId: string): Promise<void> {
  const response = await fetch(`${collector.url}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${collector.writeKey}:`)}` },
    body: JSON.stringify({ userId, messageId, event: "Ordered", anonymousId: `${userId}-device` }),
  });
  expect(response.status).toBe(200);
}

/** Runs a command that needs no collector. */
async function sluice(args: readonly string[], stdin: string | Uint8Array = "") {
  const running = cli(args, { cwd: folder, stdin });
  return { code: await running.code, out: running.out(), err: running.err() };
}

async function started(directory: string) {
  const restored = await startCollector({
    mode: "production",
    host: "127.0.0.1",
    port: 0,
    dataDirectory: directory,
    adminToken: "a-token-of-the-restored",
    logger: createLogger({ level: "error", write: () => {} }),
  });
  const api = async (path: string) => {
    const response = await fetch(`${restored.url}/api/v1${path}`, {
      headers: { authorization: "Bearer a-token-of-the-restored" },
    });
    return response.json();
  };
  const ids = async (): Promise<string[]> => {
    const { items } = (await api("/messages?limit=100")) as { items: { messageId: string }[] };
    return items.map(({ messageId }) => messageId).sort();
  };
  return { api, ids, close: () => restored.close(1_000) };
}

/** What an interrupted restore or backup might leave behind. */
const leftovers = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.includes("restoring") || name.includes("draft"));

describe("sluice backup and restore", () => {
  it("copies what is new into a folder, lists, verifies and restores it", async () => {
    await track("ada", "m1");
    const target = join(folder, "daily");
    const first = await collector.sluice(["backup", target]);
    expect(first.out).toMatch(
      /^backup \d{8}T\d+Z of .*: 1 message, .*\ncopied \S+ \S+ into \S+\nThe backup holds the secret key/,
    );
    await track("ada", "m2");
    const second = JSON.parse((await collector.sluice(["backup", target, "--json"])).out);
    expect(second).toMatchObject({ counts: { messages: 2, documents: { source: 1 } }, removed: [] });
    // The unchanged files are not copied again.
    expect(second.copiedBytes).toBeLessThan(second.bytes);
    expect((await collector.sluice(["backup", target, "--list"])).out.split("\n")).toHaveLength(3);
    expect((await collector.sluice(["backup", target, "--verify"])).out).toMatch(/(.*: ok\n){2}/);

    const directory = join(folder, "restored");
    const { code, out, err } = await sluice(["restore", target, "--data-dir", directory]);
    expect(code, err).toBe(0);
    expect(out).toMatch(/2 messages.*\nmade by version .*1 source.*\nrestored into/);
    expect(err).toMatch(/warning: users deleted after/);
    const restored = await started(directory);
    expect(await restored.ids()).toEqual(["m1", "m2"]);
    await restored.close();
    if (process.platform !== "win32")
      for (const file of [join(directory, "sluice.db"), join(directory, "secret.key")])
        expect((await stat(file)).mode & 0o777).toBe(0o600);

    const again = await sluice(["restore", target, "--data-dir", directory]);
    expect([again.code, again.err]).toEqual([1, expect.stringMatching(/is not empty/)]);
    expect(await leftovers()).toEqual([]);
  });

  it("removes older backups and their pieces with --keep", async () => {
    const target = join(folder, "kept");
    await collector.sluice(["backup", target]);
    await track("ada", "m3");
    const { out } = await collector.sluice(["backup", target, "--keep", "1"]);
    expect(out).toMatch(/removed 1 older backup\n/);
    expect(await readdir(join(target, "backups"))).toHaveLength(1);
    expect((await sluice(["backup", target, "--verify"])).code).toBe(0);
  });

  it("writes one archive, which can be restored from a file and from stdin", async () => {
    const running = collector.start(["backup", "-"]);
    expect(await running.code).toBe(0);
    const archive = running.bytes();
    const file = join(folder, "all.tar");
    await writeFile(file, archive);
    expect((await sluice(["restore", file, "--data-dir", "from-file"])).code).toBe(0);
    const piped = await sluice(["restore", "-", "--data-dir", "from-stdin"], archive);
    expect(piped.code, piped.err).toBe(0);
    expect(await readFile(join(folder, "from-stdin", "sluice.db"))).toEqual(
      await readFile(join(folder, "from-file", "sluice.db")),
    );

    const cut = await sluice(
      ["restore", "-", "--data-dir", "cut"],
      archive.subarray(0, archive.length - 5_000),
    );
    expect([cut.code, cut.err]).toEqual([1, expect.stringMatching(/cut off|no complete backup/)]);
    const damaged = Buffer.from(archive);
    damaged[20_000] = (damaged[20_000] ?? 0) ^ 1;
    const refused = await sluice(["restore", "-", "--data-dir", "damaged"], damaged);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/damaged: a checksum is wrong/)]);
    const other = await sluice(["restore", "-", "--data-dir", "other"], Buffer.alloc(2_000, "x"));
    expect([other.code, other.err]).toEqual([1, expect.stringMatching(/not an archive of `sluice backup`/)]);
    expect(await readdir(folder)).not.toEqual(expect.arrayContaining(["cut"]));
    expect(await leftovers()).toEqual([]);
  });

  it("names a damaged piece, and does not restore it", async () => {
    const target = join(folder, "rotten");
    await collector.sluice(["backup", target]);
    const [first = ""] = await readdir(join(target, "pieces"));
    const [piece = ""] = await readdir(join(target, "pieces", first));
    await writeFile(join(target, "pieces", first, piece), "x");
    const verified = await sluice(["backup", target, "--verify"]);
    expect([verified.code, verified.out]).toEqual([
      6,
      expect.stringMatching(/: 1 piece is damaged or missing/),
    ]);
    const restored = await sluice(["restore", target, "--data-dir", "rotten-restored"]);
    expect([restored.code, restored.err]).toEqual([1, expect.stringMatching(/Nothing was restored/)]);
  });

  it("lists a damaged manifest, warns of it, and restores the other backups", async () => {
    const target = join(folder, "one-damaged");
    const taken = JSON.parse((await collector.sluice(["backup", target, "--json"])).out);
    await appendFile(join(target, "backups", `${taken.id}.json`), "x");
    const next = await collector.sluice(["backup", target]);
    expect(next.err).toMatch(
      /warning: the manifest of backup \w+ is damaged: its checksum is wrong\. Delete .*json if you do not need it/,
    );
    const listed = await sluice(["backup", target, "--list"]);
    expect([listed.code, listed.out]).toEqual([
      0,
      expect.stringMatching(/^backup .*\nbackup \w+: cannot be restored, its manifest is damaged: .*\n$/),
    ]);
    expect(JSON.parse((await sluice(["backup", target, "--list", "--json"])).out)).toEqual([
      expect.objectContaining({ bytes: expect.any(Number) }),
      { id: taken.id, damaged: "is damaged: its checksum is wrong" },
    ]);
    const verified = await sluice(["backup", target, "--verify"]);
    expect([verified.code, verified.out]).toEqual([6, expect.stringMatching(/: ok\n.*cannot be restored/)]);
    const restored = await sluice(["restore", target, "--data-dir", "beside-damaged"]);
    expect([restored.code, restored.err]).toEqual([
      0,
      expect.stringMatching(/warning: the manifest of backup \w+ is damaged: .*are not repeated/),
    ]);
  });

  it("runs one backup at a time, and refuses folders that hold something else", async () => {
    const target = join(folder, "locked");
    const begun = Promise.withResolvers<void>();
    const request = Promise.withResolvers<never>();
    const running = new BackupFolder(target).take(() => {
      begun.resolve();
      return request.promise;
    });
    await begun.promise;
    const locked = await collector.sluice(["backup", target], 1);
    expect(locked.err).toMatch(/another backup into .* is running/i);
    request.reject(new Error("ended by the test"));
    await expect(running).rejects.toThrow("ended by the test");
    await collector.sluice(["backup", target]);
    const full = join(folder, "full");
    await mkdir(full);
    await writeFile(join(full, "notes.txt"), "mine");
    expect((await collector.sluice(["backup", full], 1)).err).toMatch(/is not empty and holds no backups/);
    expect(await readdir(full)).toEqual(["notes.txt"]);
  });

  it("touches nothing beside the new data folder, whatever it is called", async () => {
    const target = join(folder, "beside");
    await collector.sluice(["backup", target]);
    const precious = join(folder, "precious");
    const names = [join(folder, "linked.restoring"), join(folder, "plain.restoring")];
    await mkdir(precious);
    await writeFile(join(precious, "notes.txt"), "mine");
    await symlink(precious, names[0] as string);
    await mkdir(names[1] as string);
    await writeFile(join(names[1] as string, "notes.txt"), "mine");
    for (const name of names) {
      const { code, err } = await sluice(["restore", target, "--data-dir", name.replace(".restoring", "")]);
      expect(code, err).toBe(0);
      expect(await readdir(name)).toEqual(["notes.txt"]);
      await rm(name, { recursive: true });
    }
    expect(await readdir(precious)).toEqual(["notes.txt"]);
    expect(await leftovers()).toEqual([]);
  });

  it("removes what a killed backup left", async () => {
    const target = join(folder, "killed");
    await collector.sluice(["backup", target]);
    await writeFile(join(target, "in-use.lock"), "");
    await mkdir(join(target, "pieces", "zz"), { recursive: true });
    await writeFile(join(target, "pieces", "zz", "half.draft"), "half");
    await collector.sluice(["backup", target]);
    expect(await readdir(join(target, "pieces", "zz"))).toEqual([]);
  });

  it("repeats the deletions of later backups", async () => {
    const target = join(folder, "deletions");
    await track("grace", "m10");
    await collector.sluice(["backup", target]);
    await collector.sluice(["deletions", "create", "grace", "--yes"]);
    await vi.waitUntil(
      async () => {
        const { items } = JSON.parse((await collector.sluice(["deletions", "list", "--json"])).out);
        const [deletion] = items;
        return deletion.status === "finished";
      },
      { timeout: 20_000, interval: 50 },
    );
    await collector.sluice(["backup", target]);
    const [oldest = {}] = JSON.parse((await collector.sluice(["backup", target, "--list", "--json"])).out);
    const directory = join(folder, "without-grace");
    const { code, out, err } = await sluice([
      "restore",
      target,
      "--data-dir",
      directory,
      "--backup",
      oldest.id,
    ]);
    expect(code, err).toBe(0);
    expect(out).toMatch(/1 deletion of users made after this backup will run again/);
    const restored = await started(directory);
    await vi.waitUntil(
      async () => {
        const { items } = (await restored.api("/deletions")) as { items: { status: string }[] };
        return items.length === 1 && items.every(({ status }) => status === "finished");
      },
      { timeout: 20_000, interval: 50 },
    );
    expect(await restored.ids()).not.toContain("m10");
    await restored.close();
  });
});
