import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, startCollector } from "@sluice/collector";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
  const ids = async (): Promise<string[]> => {
    const response = await fetch(`${restored.url}/api/v1/messages?limit=100`, {
      headers: { authorization: "Bearer a-token-of-the-restored" },
    });
    const { items } = (await response.json()) as { items: { messageId: string }[] };
    return items.map(({ messageId }) => messageId).sort();
  };
  return { ids, close: () => restored.close(1_000) };
}

/** What an interrupted restore or backup might leave behind. */
const leftovers = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.includes("restoring-") || name.endsWith(".partial"));

describe("sluice backup and restore", () => {
  it("writes an archive, verifies and restores it", async () => {
    await track("ada", "m1");
    await track("ada", "m2");
    const file = join(folder, "a.tar");
    const taken = await collector.sluice(["backup", file]);
    expect(taken.out).toMatch(
      /^backup of \S+: 2 messages, .*\nwritten to \S+a\.tar, all checksums are right\nThe backup holds the secret key/,
    );
    const shown = JSON.parse((await collector.sluice(["backup", join(folder, "b.tar"), "--json"])).out);
    expect(shown).toMatchObject({ counts: { messages: 2, documents: { source: 1 } }, version: "0.1.0" });
    expect((await sluice(["backup", file, "--verify"])).out).toMatch(
      /2 messages, .*: all checksums are right\n$/,
    );

    const directory = join(folder, "restored");
    const { code, out, err } = await sluice(["restore", file, "--data-dir", directory]);
    expect(code, err).toBe(0);
    expect(out).toMatch(/2 messages.*\nmade by version .*1 source.*\nrestored into/);
    expect(err).toMatch(/warning: users deleted after/);
    const restored = await started(directory);
    expect(await restored.ids()).toEqual(["m1", "m2"]);
    await restored.close();
    if (process.platform !== "win32")
      for (const name of [file, join(directory, "sluice.db"), join(directory, "secret.key")])
        expect((await stat(name)).mode & 0o777).toBe(0o600);

    const again = await sluice(["restore", file, "--data-dir", directory]);
    expect([again.code, again.err]).toEqual([1, expect.stringMatching(/is not empty/)]);
    expect(await leftovers()).toEqual([]);
  });

  it("writes an archive to stdout, which is restored and verified from stdin", async () => {
    const running = collector.start(["backup", "-"]);
    expect(await running.code).toBe(0);
    expect(running.err()).toMatch(/^backup of .*: 2 messages/);
    const archive = running.bytes();
    const piped = await sluice(["restore", "-", "--data-dir", "from-stdin"], archive);
    expect(piped.code, piped.err).toBe(0);
    expect((await sluice(["backup", "-", "--verify"], archive)).code).toBe(0);
    expect((await readFile(join(folder, "from-stdin", "sluice.db"))).byteLength).toBeGreaterThan(0);
  });

  it("refuses an archive that is cut off, damaged or none, and restores nothing of it", async () => {
    const archive = await readFile(join(folder, "a.tar"));
    const damaged = Buffer.from(archive);
    const at = Math.floor(archive.length / 2);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    const cases: readonly (readonly [Buffer, RegExp])[] = [
      [archive.subarray(0, archive.length - 5_000), /cut off|not complete/],
      [damaged, /damaged: the checksum is wrong \(\S+\)/],
      [Buffer.alloc(2_000, "x"), /not an archive of `sluice backup`/],
    ];
    for (const [bytes, reason] of cases)
      for (const command of [
        ["restore", "-", "--data-dir", "refused"],
        ["backup", "-", "--verify"],
      ]) {
        const { code, err } = await sluice(command, bytes);
        expect([code, err]).toEqual([1, expect.stringMatching(reason)]);
      }
    const missing = await sluice(["restore", "missing.tar", "--data-dir", "refused"]);
    expect([missing.code, missing.err]).toEqual([5, expect.stringMatching(/no such file/)]);
    expect(await readdir(folder)).not.toContain("refused");
    expect(await leftovers()).toEqual([]);
  });

  it("overwrites no file", async () => {
    const file = join(folder, "mine.tar");
    await writeFile(file, "mine");
    const { err } = await collector.sluice(["backup", file], 1);
    expect(err).toMatch(/mine\.tar exists/);
    expect(await readFile(file, "utf8")).toBe("mine");
  });

  it("touches nothing beside the new data folder, whatever it is called", async () => {
    const precious = join(folder, "precious");
    const names = [join(folder, "linked.restoring"), join(folder, "plain.restoring")];
    await mkdir(precious);
    await writeFile(join(precious, "notes.txt"), "mine");
    await symlink(precious, names[0] as string);
    await mkdir(names[1] as string);
    await writeFile(join(names[1] as string, "notes.txt"), "mine");
    for (const name of names) {
      const target = name.replace(".restoring", "");
      const { code, err } = await sluice(["restore", join(folder, "a.tar"), "--data-dir", target]);
      expect(code, err).toBe(0);
      expect(await readdir(name)).toEqual(["notes.txt"]);
    }
    expect(await readdir(precious)).toEqual(["notes.txt"]);
    expect(await leftovers()).toEqual([]);
  });
});
