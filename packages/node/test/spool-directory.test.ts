import { EventEmitter } from "node:events";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type BuiltIns, builtIns } from "../src/spool/built-ins.js";
import { Holder, socketState } from "../src/spool/holder.js";
import { SpoolDirectory } from "../src/spool/spool-directory.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-spool-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const batch = (...names: string[]) =>
  names.map((messageId) => {
    const json = JSON.stringify({ messageId });
    return { sequence: 0, messageId, json, bytes: json.length };
  });
/** Of a batch with one message whose id has one letter. */
const BYTES = 18;

/** A spool that is not open, with some calls of Node.js replaced. */
async function newSpool(
  maxBytes = 1_000_000,
  replace: (own: BuiltIns) => Partial<BuiltIns> = () => ({}),
): Promise<SpoolDirectory> {
  const own = await builtIns();
  const options = { directory, maxBytes, writeKey: "k", batchUrl: "http://c/v1/batch" };
  return new SpoolDirectory(options, { ...own, ...replace(own) });
}
async function openSpool(...given: Parameters<typeof newSpool>): Promise<SpoolDirectory> {
  const spool = await newSpool(...given);
  await spool.open();
  return spool;
}
const replaceFs =
  (calls: (fs: BuiltIns["fs"]) => object) =>
  ({ fs }: BuiltIns): Partial<BuiltIns> => ({ fs: { ...fs, ...calls(fs) } as BuiltIns["fs"] });

const folder = async (): Promise<string> => join(directory, String((await readdir(directory))[0]));
const files = async (): Promise<string[]> => (await readdir(await folder())).sort();
const idsOf = async (spool: SpoolDirectory): Promise<string[]> =>
  ((await spool.oldest())?.batch ?? []).map(({ messageId }) => messageId);

/** Puts a file into the spool's folder that was last changed so many hours ago. */
async function leave(name: string, hoursAgo: number, text = ""): Promise<void> {
  await (await openSpool()).append(batch("z"));
  const path = join(await folder(), name);
  await writeFile(path, text);
  const at = new Date(Date.now() - hoursAgo * 3_600_000);
  await utimes(path, at, at);
}

it.each<[name: string, file: string, hoursAgo: number, isKept: boolean]>([
  ["a draft that a process may be writing", "a.draft", 0, true],
  ["a draft of an hour ago", "a.draft", 2, false],
  ["the socket of another machine", "aaaaaa-0123456789ab.sock", 0, true],
  ["the socket of another machine, an hour old", "aaaaaa-0123456789ab.sock", 2, false],
  ["a file that is not its own", "notes.txt", 2, true],
  ["a batch", "000000000007.jsonl", 2, true],
])("open() decides whether to keep %s", async (_name, file, hoursAgo, isKept) => {
  await leave(file, hoursAgo);
  await openSpool();
  expect((await files()).includes(file)).toBe(isKept);
});

it("counts before it is open what earlier processes left, and nothing else", async () => {
  await leave("notes.txt", 0, "x".repeat(10 * BYTES));
  const spool = await newSpool(2 * BYTES);
  expect(spool.appendNow(batch("a"))).toBe("kept");
  expect(spool.appendNow(batch("b"))).toMatchObject({ reason: expect.stringContaining("full") });
});

it("numbers a batch behind all that are there, taken ones included", async () => {
  await leave("000000000041.jsonl.aaaaaa-bbbbbb-0123456789ab.taken", 0, '{"messageId":"t"}');
  await (await newSpool()).append(batch("a"));
  expect(await files()).toContain("000000000042.jsonl");
});

it("takes the next number if another process took one since it looked", async () => {
  await leave("000000000002.jsonl", 0, '{"messageId":"other"}');
  const blind = replaceFs(() => ({ readdirSync: () => [] }));
  expect((await newSpool(1_000, blind)).appendNow(batch("a"))).toBe("kept");
  expect(await files()).toEqual(["000000000001.jsonl", "000000000002.jsonl", "000000000003.jsonl"]);
});

it("refuses a batch whose number cannot be reserved", async () => {
  const failing = replaceFs(({ openSync }) => ({
    openSync: (path: string, ...rest: [string, number]) => {
      if (path.endsWith(".jsonl")) throw Object.assign(new Error("EACCES: denied"), { code: "EACCES" });
      return openSync(path, ...rest);
    },
  }));
  const spool = await newSpool(1_000, failing);
  expect(spool.appendNow(batch("a"))).toMatchObject({ reason: expect.stringContaining("EACCES") });
  expect(await files()).toEqual([]);
});

it("forgets a batch that another process took since it was opened, and an empty file", async () => {
  await leave("000000000000.jsonl", 0);
  const [first, second] = [await openSpool(), await openSpool()];
  expect(await idsOf(first)).toEqual(["z"]);
  expect([await idsOf(second), second.messages]).toEqual([[], 0]);
  expect((await files()).filter((file) => file.endsWith(".jsonl"))).toEqual([]);
});

it("leaves what another process keeps after it was opened to that process", async () => {
  const [first, second] = [await openSpool(), await openSpool()];
  await second.append(batch("b"));
  await first.append(batch("a"));
  expect(await idsOf(first)).toEqual(["a"]);
  await first.release();
});

it("gives the same batch again if it could not be sent", async () => {
  await (await openSpool()).append(batch("a"));
  const spool = await openSpool();
  expect([await idsOf(spool), await idsOf(spool), spool.messages]).toEqual([["a"], ["a"], 1]);
  await spool.release();
});

it.each([
  ["EINVAL", "kept"],
  ["EPERM", "kept"],
  ["EIO", { reason: expect.stringContaining("EIO") }],
])("a folder whose sync fails with %s: %j", async (code, kept) => {
  const failing = replaceFs(({ fsyncSync, fstatSync }) => ({
    fsyncSync(descriptor: number) {
      if (fstatSync(descriptor).isDirectory()) throw Object.assign(new Error(code), { code });
      fsyncSync(descriptor);
    },
  }));
  expect((await newSpool(1_000, failing)).appendNow(batch("a"))).toEqual(kept);
});

it("syncs the names of its folders once, and again if somebody removed them", async () => {
  let synced = 0;
  const counting = replaceFs(({ openSync }) => ({
    openSync(path: string, ...rest: [string, number]) {
      if (path === tmpdir()) synced += 1;
      return openSync(path, ...rest);
    },
  }));
  const spool = await newSpool(1_000, counting);
  spool.appendNow(batch("a"));
  spool.appendNow(batch("b"));
  expect(synced).toBe(1);
  await rm(await folder(), { recursive: true });
  spool.appendNow(batch("c"));
  expect(synced).toBe(2);
});

it.each([
  ["a batch is kept", false],
  ["the disk fails", true],
])("leaves no file open when %s, in a folder with a long path", async (_name, isFailing) => {
  directory = join(directory, "x".repeat(120));
  await mkdir(directory);
  const open = new Set<number>();
  const counting = replaceFs(({ openSync, closeSync, fsyncSync }) => ({
    openSync(...given: Parameters<typeof openSync>) {
      const descriptor = openSync(...given);
      open.add(descriptor);
      return descriptor;
    },
    closeSync(descriptor: number) {
      open.delete(descriptor);
      closeSync(descriptor);
    },
    fsyncSync(descriptor: number) {
      if (isFailing) throw Object.assign(new Error("EIO"), { code: "EIO" });
      fsyncSync(descriptor);
    },
  }));
  const spool = await openSpool(1_000, counting);
  spool.appendNow(batch("a"));
  await spool.oldest();
  await spool.release();
  expect(open.size).toBe(0);
});

it("takes batches where a socket fails after it was asked for", async () => {
  const failing = ({ net }: BuiltIns): Partial<BuiltIns> => ({
    net: {
      ...net,
      createServer: () => {
        const server = Object.assign(new EventEmitter(), {
          unref() {},
          listen: () => setImmediate(() => server.emit("error", new Error("EPERM"))),
        });
        return server;
      },
    } as unknown as BuiltIns["net"],
  });
  const spool = await openSpool(1_000, failing);
  await spool.append(batch("a"));
  expect(await idsOf(spool)).toEqual(["a"]);
});

it.each([
  ["ECONNREFUSED", "ended"],
  ["EAGAIN", "runs"],
  ["EBUSY", "runs"],
  ["ENOENT", process.platform === "win32" ? "ended" : "unknown"],
  ["EPERM", "unknown"],
])("a process whose socket answers %s: %s", async (code, state) => {
  const own = await builtIns();
  const connect = () => {
    const connection = new EventEmitter();
    setImmediate(() => connection.emit("error", Object.assign(new Error(code), { code })));
    return connection;
  };
  const net = { ...own.net, connect } as unknown as BuiltIns["net"];
  expect(await socketState(directory, "x.sock", { ...own, net })).toBe(state);
});

it.skipIf(process.platform !== "linux")(
  "a holder has a name of its machine and one of its boot",
  async () => {
    const own = await builtIns();
    const { host, boot } = new Holder(directory, own).name;
    expect(boot).not.toBe(host);
    const hostname = () => {
      throw new Error("denied");
    };
    const denied = new Holder(directory, { ...own, os: { ...own.os, hostname } as BuiltIns["os"] }).name;
    expect([denied.boot, denied.host]).toEqual([boot, expect.stringMatching(/^[0-9a-f]{6}$/)]);
  },
);
