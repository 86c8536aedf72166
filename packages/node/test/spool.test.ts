import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type LoopbackCollector, loopbackCollector } from "@sluice/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Analytics, type AnalyticsOptions } from "../src/index.js";

import { type BuiltIns, builtIns } from "../src/spool/built-ins.js";
import { Holder } from "../src/spool/holder.js";
import { SpoolDirectory } from "../src/spool/spool-directory.js";
import { type RunningProgram, runProgram } from "./programs/run-program.js";

let directory: string;
let collector: LoopbackCollector;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-spool-"));
  collector = await loopbackCollector();
});
afterEach(async () => {
  await collector.close();
  await rm(directory, { recursive: true, force: true });
});

function client(options: Partial<AnalyticsOptions> = {}): Analytics {
  return new Analytics({
    writeKey: "k",
    host: collector.url,
    maxRetries: 0,
    spool: { directory },
    ...options,
  });
}

const events = () => collector.messages.map(({ event }) => event);

describe("a client with a spool", () => {
  it("delivers after a restart what it could not deliver before, in order and with the same ids", async () => {
    collector.faults.always({ status: 503 });
    const before = client({ batchSize: 2 });
    const ids = ["A", "B", "C", "D", "E"].map((event) => before.track({ userId: "u", event }).messageId);
    expect(await before.close({ timeoutMs: 3_000 })).toEqual({
      delivered: 0,
      failed: 0,
      refused: 0,
      spooled: 5,
    });

    collector.faults.clear();
    const after = client({ flushAt: 1 });
    after.track({ userId: "u", event: "F" });
    await collector.waitFor({ event: "F" });
    expect(events()).toEqual(["A", "B", "C", "D", "E", "F"]);
    expect(collector.messages.slice(0, 5).map(({ messageId }) => messageId)).toEqual(ids);
    await after.close();
    expect(after.stats()).toEqual({
      delivered: 6,
      failed: 0,
      refused: 0,
      queued: 0,
      spooled: 0,
      queuedBytes: 0,
      peakQueued: 1,
      peakQueuedBytes: expect.any(Number),
    });
  });

  it("never mixes the messages of two write keys", async () => {
    collector.faults.always({ status: 503 });
    const one = client({ writeKey: "one" });
    one.track({ userId: "u", event: "of one" });
    await one.close();
    collector.faults.clear();
    const two = client({ writeKey: "two" });
    two.track({ userId: "u", event: "of two" });
    await two.close();
    expect(events()).toEqual(["of two"]);
  });

  const LATER = "await new Promise((resolve) => setTimeout(resolve, 20));";
  it.each<[name: string, end: string, code: number]>([
    ["process.exit()", `${LATER} process.exit(3);`, 3],
    ["an uncaught exception", `${LATER} throw new Error("the host");`, 1],
    ["process.exit() in the same turn as the constructor", "process.exit(3);", 3],
    ["an exception in the turn the client was made in", 'throw new Error("the host");', 1],
  ])("keeps what is queued at %s", async (_name, end, code) => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: url, spool: { directory: ${JSON.stringify(directory)} } });
      for (let i = 0; i < 250; i++) analytics.track({ userId: "u", event: "E" + i });
      process.on("exit", () => console.log(JSON.stringify(analytics.stats()))); ${end}`;
    collector.faults.always("hang");
    const ended = await runProgram(source, { url: collector.url }).ended;
    expect(ended.code).toBe(code);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      delivered: 0,
      failed: 0,
      refused: 0,
      queued: 0,
      spooled: 250,
    });
    collector.faults.clear();
    const after = client();
    await after.close();
    expect(events()).toEqual(Array.from({ length: 250 }, (_, i) => `E${i}`));
  });

  it("reports at process.exit() what does not fit into the spool, counting what earlier processes left", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: url, spool: { directory: ${JSON.stringify(directory)}, maxBytes: 250 },
        onError: (status, _message, { code, messages }) => console.log(status, code, messages.length) });
      analytics.track({ userId: "u", event: "E" }); process.exit();`;
    collector.faults.always("hang");
    expect((await runProgram(source, { url: collector.url }).ended).stdout).toBe("");
    expect((await runProgram(source, { url: collector.url }).ended).stdout).toBe("-1 spool_failed 1\n");
  });

  it("sends the readable messages of a damaged file, and reports the others", async () => {
    collector.faults.always({ status: 503 });
    const before = client();
    before.track({ userId: "u", event: "A" });
    before.track({ userId: "u", event: "B" });
    await before.close();
    const folder = join(directory, String((await readdir(directory))[0]));
    const [file] = await readdir(folder);
    const path = join(folder, String(file));
    const text = await readFile(path, "utf8");
    const waiting = join(folder, "000000000001.jsonl");
    await rm(path);
    await writeFile(waiting, text.slice(0, -20));

    collector.faults.clear();
    const lost: unknown[] = [];
    const after = client({
      onError: (status, message, { code, messages }) => lost.push([status, message, code, messages]),
    });
    await after.close();
    expect(after.stats()).toMatchObject({ delivered: 1, failed: 1, spooled: 0 });
    expect(events()).toEqual(["A"]);
    const { messageId } = JSON.parse(String(text.split("\n")[1]));
    expect(lost).toEqual([[-1, expect.stringContaining(waiting), "spool_damaged", [{ messageId }]]]);
  });

  it("delivers without a spool if the directory cannot be created, and reports losses", async () => {
    const file = join(directory, "a-file");
    await writeFile(file, "");
    const lost: string[] = [];
    const analytics = client({
      spool: { directory: join(file, "below") },
      onError: (_status, _text, { code }) => lost.push(code),
    });
    analytics.track({ userId: "u", event: "A" });
    expect(await analytics.flush()).toMatchObject({ delivered: 1 });
    collector.faults.always({ status: 503 });
    analytics.track({ userId: "u", event: "B" });
    expect(await analytics.flush()).toMatchObject({ failed: 1, spooled: 0 });
    expect(lost).toEqual(["spool_failed"]);
    await analytics.close();
  });
});

describe("the directory", () => {
  const batch = (...names: string[]) =>
    names.map((messageId) => {
      const json = JSON.stringify({ messageId });
      return { sequence: 0, messageId, json, bytes: json.length };
    });
  const openSpool = async (maxBytes = 1_000_000): Promise<SpoolDirectory> => {
    const options = { directory, maxBytes, writeKey: "k", batchUrl: "http://c/v1/batch" };
    const spool = new SpoolDirectory(options, await builtIns());
    await spool.open();
    return spool;
  };
  const folder = async () => join(directory, String((await readdir(directory))[0]));

  it("goes on if another process takes a file at the same time", async () => {
    const left = await openSpool();
    await left.append(batch("a"));
    await left.append(batch("b"));
    const builtIn = await builtIns();
    const taken = (file: unknown) => String(file).endsWith("000000000001.jsonl");
    const gone = () => Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" });
    const { fs } = builtIn;
    const racing = {
      ...fs,
      statSync: (file: string, options?: { throwIfNoEntry?: boolean }) => {
        if (!taken(file)) return fs.statSync(file);
        if (options?.throwIfNoEntry === false) return undefined;
        throw gone();
      },
      promises: {
        ...fs.promises,
        stat: (file: string) => (taken(file) ? Promise.reject(gone()) : fs.promises.stat(file)),
      },
    };
    const options = { directory, maxBytes: 36, writeKey: "k", batchUrl: "http://c/v1/batch" };
    const spool = new SpoolDirectory(options, { ...builtIn, fs: racing as unknown as typeof fs });
    expect(spool.appendNow(batch("c"))).toBe("kept");
    expect(spool.appendNow(batch("d"))).toMatchObject({ reason: expect.stringContaining("full") });
    await spool.open();
    expect(spool.messages).toBe(2);
    const ids: string[] = [];
    for (let kept = await spool.oldest(); kept !== undefined; kept = await spool.oldest()) {
      ids.push(...kept.batch.map(({ messageId }) => messageId));
      await kept.remove();
    }
    expect(ids).toEqual(["b", "c"]);
  });

  it("is readable only by its owner", async () => {
    const spool = await openSpool();
    await spool.append(batch("a"));
    const [file] = await readdir(await folder());
    expect((await stat(join(await folder(), String(file)))).mode & 0o077).toBe(0);
    expect((await stat(await folder())).mode & 0o077).toBe(0);
  });

  it("keeps its size limit, and accepts more when there is room", async () => {
    const spool = await openSpool(36);
    expect(await spool.append(batch("a", "b"))).toBe("kept");
    expect(await spool.append(batch("c"))).toMatchObject({ reason: expect.stringContaining("full") });
    await (await spool.oldest())?.remove();
    expect(await spool.append(batch("c"))).toBe("kept");
  });

  it("skips files and lines that are not its own", async () => {
    const first = await openSpool();
    await first.append(batch("a"));
    await writeFile(join(await folder(), "000000000002.jsonl"), '{"torn\nnull\n5\n{"messageId":7}\n');
    await writeFile(join(await folder(), "notes.txt"), "hello");
    await writeFile(join(await folder(), "000000000003.jsonl"), 'garbage\n{"messageId":"z"}\n');
    const spool = await openSpool();
    const kept = await spool.oldest();
    expect(kept?.batch.map(({ messageId }) => messageId)).toEqual(["a"]);
    await kept?.remove();
    const foreign = await spool.oldest();
    expect([foreign?.batch, foreign?.damaged.length]).toEqual([[], 4]);
    await foreign?.remove();
    const next = await spool.oldest();
    expect(next?.batch.map(({ messageId }) => messageId)).toEqual(["z"]);
    await next?.remove();
    expect(await spool.oldest()).toBeUndefined();
    expect(await readdir(await folder())).toEqual(["notes.txt"]);
  });

  const idsOf = async (spool: SpoolDirectory): Promise<string[]> => {
    const kept = await spool.oldest();
    return (kept?.batch ?? []).map(({ messageId }) => messageId);
  };
  const filesLike = async (end: string): Promise<string[]> =>
    (await readdir(await folder())).filter((file) => file.endsWith(end));

  it("gives a batch to one of two clients, and to the other one when the first is closed", async () => {
    const first = await openSpool();
    await first.append(batch("a"));
    expect(await idsOf(first)).toEqual(["a"]);
    const second = await openSpool();
    expect([await idsOf(second), second.messages]).toEqual([[], 0]);
    await first.release();
    expect(await filesLike(".sock")).toEqual([]);
    expect(await idsOf(await openSpool())).toEqual(["a"]);
  });

  it.each<[name: string, machine: string, ageMs: number, isReleased: boolean]>([
    ["another machine has just touched", "aaaaaa-bbbbbb", 0, false],
    ["another machine has not touched for ten minutes", "aaaaaa-bbbbbb", 601_000, true],
    ["another machine touched, if the clock is ten minutes behind", "aaaaaa-bbbbbb", -601_000, true],
    ["this machine took before it rebooted", "HOST-bbbbbb", 0, true],
    ["a process without a socket has just touched", "HOST-BOOT", 0, false],
    ["a process without a socket has not touched for ten minutes", "HOST-BOOT", 601_000, true],
  ])("decides about a file that %s", async (_name, machine, ageMs, isReleased) => {
    await (await openSpool()).append(batch("a"));
    const path = await folder();
    const { host, boot } = new Holder(path, await builtIns()).name;
    const holder = machine.replace("HOST", host).replace("BOOT", boot);
    const taken = join(path, `000000000001.jsonl.${holder}-0123456789ab.taken`);
    await rename(join(path, "000000000001.jsonl"), taken);
    const touched = new Date(Date.now() - ageMs);
    await utimes(taken, touched, touched);
    expect((await openSpool()).messages).toBe(isReleased ? 1 : 0);
  });

  it("removes only its own file, also if another one has the same number", async () => {
    const [first, second] = [await openSpool(), await openSpool()];
    await first.append(batch("a"));
    const sent = await first.oldest();
    for (const file of await filesLike(".taken")) await rm(join(await folder(), file));
    await second.append(batch("b"));
    expect((await second.oldest())?.file).toBe(sent?.file);
    await sent?.remove();
    await second.release();
    expect(await idsOf(await openSpool())).toEqual(["b"]);
  });

  it("removes the socket of a process that was killed, and keeps that of a running one", async () => {
    const spool = await openSpool();
    await spool.append(batch("a"));
    await spool.oldest();
    const [running = ""] = await filesLike(".sock");
    const path = JSON.stringify(join(await folder(), running.replace(/-.*/, "-0123456789ab.sock")));
    const source = `require("net").createServer().listen(${path}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", source]);
    expect(await filesLike(".sock")).toHaveLength(2);
    await openSpool();
    expect(await filesLike(".sock")).toEqual([running]);
  });

  it("knows holders in a folder with a long path", async () => {
    directory = join(directory, "x".repeat(120));
    await (await openSpool()).append(batch("a"));
    const first = await openSpool();
    expect(await idsOf(first)).toEqual(["a"]);
    expect(await filesLike(".sock")).toHaveLength(1);
    expect(await idsOf(await openSpool())).toEqual([]);
    await first.release();
    expect(await idsOf(await openSpool())).toEqual(["a"]);
  });

  it("takes batches where no socket can be made", async () => {
    const { net, ...others } = await builtIns();
    const createServer = () => ({ unref() {}, on() {}, listen: () => raise(new Error("EPERM")) });
    const options = { directory, maxBytes: 1_000_000, writeKey: "k", batchUrl: "http://c/v1/batch" };
    const spool = new SpoolDirectory(options, {
      ...others,
      net: { ...net, createServer } as unknown as typeof net,
    });
    await spool.append(batch("a"));
    expect(await idsOf(spool)).toEqual(["a"]);
    expect((await openSpool()).messages).toBe(0);
    await spool.release();
    expect((await openSpool()).messages).toBe(1);
  });

  /** A spool with some calls of `fs` replaced. */
  const openSpoolOver = async (
    replace: (fs: BuiltIns["fs"]) => Partial<BuiltIns["fs"]>,
  ): Promise<SpoolDirectory> => {
    const { fs, ...others } = await builtIns();
    const options = { directory, maxBytes: 1_000_000, writeKey: "k", batchUrl: "http://c/v1/batch" };
    const spool = new SpoolDirectory(options, { ...others, fs: { ...fs, ...replace(fs) } as typeof fs });
    await spool.open();
    return spool;
  };

  it("completes a short write", async () => {
    const spool = await openSpoolOver(({ writeSync }) => ({
      writeSync: ((descriptor: number, bytes: Uint8Array, offset: number) =>
        writeSync(descriptor, bytes, offset, Math.min(7, bytes.length - offset))) as typeof writeSync,
    }));
    expect(await spool.append(batch("first", "second"))).toBe("kept");
    expect((await spool.oldest())?.batch.map(({ messageId }) => messageId)).toEqual(["first", "second"]);
  });

  it.each<[name: string, answer: () => number, reason: RegExp]>([
    ["stops in the middle", () => 0, /wrote 0 of/],
    [
      "has no room",
      () => {
        throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      },
      /ENOSPC/,
    ],
  ])("refuses a batch where the disk %s, and leaves nothing behind", async (_name, answer, reason) => {
    const spool = await openSpoolOver(() => ({ writeSync: answer }));
    expect(await spool.append(batch("a", "b"))).toMatchObject({ reason: expect.stringMatching(reason) });
    expect(spool.messages).toBe(0);
    expect(await readdir(await folder())).toEqual([]);
  });

  it("refuses a batch whose file cannot be renamed, and leaves no file", async () => {
    const spool = await openSpoolOver(() => ({
      renameSync: () => {
        throw new Error("EIO: i/o error");
      },
    }));
    expect(await spool.append(batch("a"))).toMatchObject({ reason: expect.stringContaining("EIO") });
    expect(await readdir(await folder())).toEqual([]);
  });

  it("syncs a file before it is renamed, and its folder after", async () => {
    const calls: string[] = [];
    const names = new Map<number, string>();
    const spool = await openSpoolOver(({ openSync, fsyncSync, renameSync }) => ({
      openSync: ((path: string, flags: string, mode?: number) => {
        const descriptor = openSync(path, flags, mode);
        names.set(descriptor, path.endsWith(".draft") ? "draft" : path);
        return descriptor;
      }) as typeof openSync,
      fsyncSync: (descriptor) => {
        calls.push(`sync ${names.get(descriptor)}`);
        fsyncSync(descriptor);
      },
      renameSync: (from, to) => {
        calls.push("rename");
        renameSync(from, to);
      },
    }));
    expect(await spool.append(batch("a"))).toBe("kept");
    expect(calls.slice(-3)).toEqual(["sync draft", "rename", `sync ${await folder()}`]);
  });

  it("syncs the names of its folders before it keeps a batch, also of those that exist", async () => {
    const synced: unknown[] = [];
    const names = new Map<number, string>();
    const spool = await openSpoolOver(({ openSync, fsyncSync }) => ({
      openSync: ((path: string, flags: string, mode?: number) => {
        const descriptor = openSync(path, flags, mode);
        names.set(descriptor, path);
        return descriptor;
      }) as typeof openSync,
      fsyncSync: (descriptor) => {
        synced.push(names.get(descriptor));
        fsyncSync(descriptor);
      },
    }));
    expect(await spool.append(batch("a"))).toBe("kept");
    expect(synced).toEqual(expect.arrayContaining([directory, dirname(directory)]));
  });

  it("returns the complete messages of a damaged file, and the ids of the others", async () => {
    await (await openSpool()).append(batch("before"));
    const whole = JSON.stringify({ messageId: "whole" });
    await writeFile(
      join(await folder(), "000000000002.jsonl"),
      `${whole}\n{"type":"track","messageId":"torn","eve`,
    );
    await writeFile(join(await folder(), "000000000003.jsonl"), new Uint8Array(100));
    await (await openSpool()).append(batch("after"));
    const spool = await openSpool();
    const found: unknown[] = [];
    for (let kept = await spool.oldest(); kept !== undefined; kept = await spool.oldest()) {
      found.push([kept.batch.map(({ messageId }) => messageId), kept.damaged]);
      await kept.remove();
    }
    expect(found).toEqual([
      [["before"], []],
      [["whole"], [{ messageId: "torn" }]],
      [[], [{ messageId: "" }]],
      [["after"], []],
    ]);
  });

  it("never gives two batches the same number, even if two processes write at once", async () => {
    const [one, two] = [await openSpool(), await openSpool()];
    await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : two).append(batch(`m${i}`))));
    const files = (await readdir(await folder())).filter((file) => file.endsWith(".jsonl"));
    const contents = await Promise.all(
      files.map(async (file) => readFile(join(await folder(), file), "utf8")),
    );
    expect(new Set(contents).size).toBe(20);
  });
});

describe("two processes that share a spool, each with the process id 1, as in two containers", () => {
  const running: RunningProgram[] = [];
  afterEach(() => {
    for (const program of running.splice(0)) program.kill("SIGKILL");
  });

  /** Makes a call, closes, and prints how many messages are left in its spool. */
  function start(name: string): RunningProgram {
    const program = runProgram(
      `Object.defineProperty(process, "pid", { value: 1 });
      const analytics = new Analytics({ writeKey: "k", host: url, maxRetries: 0, spool: { directory: ${JSON.stringify(directory)} } });
      analytics.track({ userId: "u", event: "${name}" });
      await analytics.close();
      console.log("spooled", analytics.stats().spooled);`,
      { url: collector.url },
    );
    running.push(program);
    return program;
  }

  it("does not send what the other one is sending, until that one is killed", async () => {
    collector.faults.always({ status: 503 });
    const left = client();
    left.track({ userId: "u", event: "left" });
    await left.close();

    const begun = collector.requests.length;
    collector.faults.clear();
    collector.faults.always("hang");
    const first = start("first");
    await expect.poll(() => collector.requests.length).toBe(begun + 1);

    collector.faults.clear();
    await start("second").printed("spooled 0");
    // What the first one has not begun to send waits for anybody.
    expect(events()).toEqual(["first", "second"]);
    first.kill("SIGKILL");
    await first.ended;
    await start("third").printed("spooled 0");
    expect(events()).toEqual(["first", "second", "left", "third"]);
  });
});

function raise(error: Error): never {
  throw error;
}

function mayMount(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0;
}

describe.skipIf(!mayMount())("a full disk (needs root, to mount a small one)", () => {
  it("keeps complete batches and reports every message of the others", async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", directory]);
    try {
      collector.faults.always({ status: 503 });
      const lost: string[] = [];
      const before = client({
        batchSize: 100,
        onError: (_status, _text, { code, messages }) => {
          expect(code).toBe("spool_failed");
          lost.push(...messages.map(({ messageId }) => messageId));
        },
      });
      const ids = Array.from({ length: 250 }, (_, i) => {
        const call = { userId: "u", event: `E${i}`, properties: { filler: "x".repeat(i < 100 ? 10 : 700) } };
        return before.track(call).messageId;
      });
      const { failed, spooled } = await before.close();
      expect([failed + (spooled ?? 0), lost.length]).toEqual([250, failed]);
      expect(failed).toBeGreaterThan(0);
      expect(spooled).toBeGreaterThan(0);

      collector.faults.clear();
      const after = client();
      await after.close();
      const arrived = collector.messages.map(({ messageId }) => messageId);
      expect(arrived).toEqual(ids.filter((id) => !lost.includes(id)));
    } finally {
      execFileSync("umount", ["-l", directory]);
    }
  });
});
