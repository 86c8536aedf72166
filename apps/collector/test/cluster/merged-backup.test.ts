import { describe, expect, it } from "vitest";
import {
  type BackupManifest,
  encodeManifest,
  manifestName,
  newManifest,
} from "../../src/backups/manifest.js";
import { deletionsOf, mergeManifests, partsOf } from "../../src/backups/partitions.js";
import { passedArchive } from "../../src/backups/passed-archive.js";
import { readTar, tarEnd, tarEntry } from "../../src/backups/tar.js";
import { failureEntry } from "../../src/backups/transfer.js";
import type { Owners, PartAnswer } from "../../src/cluster/gateway/ask-owners.js";
import { mergedBackup } from "../../src/cluster/gateway/merged-backup.js";
import { CollectorError } from "../../src/errors.js";
import type { HttpAnswer, HttpRequest } from "../../src/http/routing/route.js";

const HASHES = ["ab", "cd", "ef"].map((two) => two.repeat(32));

function manifestOf(partition: number, over: Partial<BackupManifest> = {}): BackupManifest {
  return {
    ...newManifest({
      ...{ createdAt: `2026-11-23T10:00:0${5 - partition}.000Z`, origin: `org_${partition}` },
      ...{ version: "0.1.0", secretKey: "environment" },
      counts: { messages: partition + 1, documents: { source: 2 } },
      files: [{ name: "sluice.db", bytes: 1, layout: 1, pieces: [HASHES[partition] ?? ""] }],
      deletions: [
        { id: `del_${partition}`, createdAt: "x", suppress: false, includeAliases: false, users: [] },
      ],
    }),
    ...over,
  };
}

const piece = (partition: number): Uint8Array =>
  tarEntry(`pieces/${HASHES[partition]?.slice(0, 2)}/${HASHES[partition]}`, Buffer.from("x"), 1_000);
const manifestEntry = (partition: number): Uint8Array => {
  const manifest = manifestOf(partition);
  return tarEntry(manifestName(manifest), encodeManifest(manifest), 1_000);
};
const whole = (partition: number): Uint8Array[] => [piece(partition), manifestEntry(partition), tarEnd()];

async function* chunksOf(chunks: readonly Uint8Array[], last?: Error): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (last !== undefined) throw last;
}

type Part = AsyncIterable<Uint8Array> | PartAnswer | Error;

function ask(parts: readonly Part[]): Promise<HttpAnswer> {
  const owners: Owners = {
    partitions: parts.map((_, partition) => partition),
    newRun: () => "a run",
    owned: async () => {},
    ask: async (partition) => ({ partition, status: 200, body: {} }),
    async stream(partition) {
      const part = parts[partition] as Part;
      if (part instanceof Error) throw part;
      return part;
    },
  };
  const request = {
    ...{ method: "POST", path: "/api/v1/backups", headers: {}, params: {}, vouch() {} },
    signal: new AbortController().signal,
    readBody: async () => Buffer.from("{}"),
  };
  return mergedBackup(owners, request as unknown as HttpRequest);
}

async function archive({ stream }: HttpAnswer): Promise<Uint8Array[]> {
  const written: Uint8Array[] = [];
  const write = (chunk: string | Uint8Array): boolean => written.push(chunk as Uint8Array) > 0;
  await stream?.(write, new AbortController().signal, async () => {});
  return written;
}

describe("the backup of several partitions", () => {
  it("is one archive with the pieces of all, each once, and one manifest at the end", async () => {
    const answer = await ask([chunksOf(whole(0)), chunksOf([piece(0), ...whole(1)]), chunksOf(whole(2))]);
    const entries: string[] = [];
    const written = await archive(answer);
    for await (const { name } of readTar(chunksOf(written))) entries.push(name);
    expect(entries.filter((name) => name.startsWith("pieces"))).toHaveLength(3);
    expect(entries.at(-1)).toBe("backups/20261123T100003000Z.json");
    const manifest = await passedArchive(chunksOf(written), async () => {});
    expect(manifest).toEqual(
      mergeManifests([2, 0, 1].map((n) => ({ partition: n, manifest: manifestOf(n) }))),
    );
  });

  it("waits for an owner, and then refuses in words before anything is sent", async () => {
    const nobody = new CollectorError("no_owner", "no process owns partition 1");
    await expect(ask([chunksOf(whole(0)), nobody])).rejects.toThrow("no process owns partition 1");
    const refusal = { partition: 1, status: 409, body: { error: { code: "conflict" } } };
    expect(await ask([chunksOf(whole(0)), refusal])).toEqual({ status: 409, body: refusal.body });
  });

  it.each<[string, Part, RegExp]>([
    ["is lost", chunksOf([piece(1)], new Error("other side closed")), /partition 1 .*other side closed/],
    ["ends early", chunksOf([piece(1)]), /partition 1 .*its end is missing/],
    ["sends no manifest", chunksOf([piece(1), tarEnd()]), /partition 1 .*has no manifest/],
    ["gives up", chunksOf([failureEntry("the disk is full")]), /partition 1 .*the disk is full/],
  ])("fails as a whole when the owner of a partition %s", async (_, part, reason) => {
    const written = await archive(await ask([chunksOf(whole(0)), part]));
    await expect(passedArchive(chunksOf(written), async () => {})).rejects.toThrow(reason);
    const entries: string[] = [];
    for await (const { name } of readTar(chunksOf(written))) entries.push(name);
    expect(entries.filter((name) => name.startsWith("backups"))).toEqual([]);
  });
});

describe("one manifest of several", () => {
  const merged = mergeManifests([0, 1].map((partition) => ({ partition, manifest: manifestOf(partition) })));

  it("counts all messages, settings once, and keeps the files and deletions of each partition apart", () => {
    expect(merged).toMatchObject({
      ...{ format: 2, id: "20261123T100004000Z", createdAt: "2026-11-23T10:00:04.000Z", origin: "org_0" },
      counts: { messages: 3, documents: { source: 2 } },
    });
    expect(partsOf(merged).map(({ files }) => files.map(({ pieces }) => pieces))).toEqual([
      [[HASHES[0]]],
      [[HASHES[1]]],
    ]);
    expect(deletionsOf(merged, 1).map(({ id }) => id)).toEqual(["del_1"]);
    // Of a backup from before the cluster had several partitions.
    expect(deletionsOf(manifestOf(0), undefined).map(({ id }) => id)).toEqual(["del_0"]);
    expect(deletionsOf(manifestOf(0), 1)).toEqual([]);
  });

  it("never lacks a partition", () => {
    const parts = [0, 2].map((partition) => ({ partition, manifest: manifestOf(partition) }));
    expect(() => mergeManifests(parts)).toThrow("the part of partition 1 is missing");
    const empty = [0, 1].map((partition) => ({ partition, manifest: manifestOf(partition, { files: [] }) }));
    expect(() => mergeManifests(empty)).toThrow("the part of partition 0 is not that of a store");
  });
});
