import { serialQueue } from "@sluice/resilience";
import { decodeManifest, encodeManifest, entryKind, manifestName } from "../../backups/manifest.js";
import { mergeManifests, type PartManifest } from "../../backups/partitions.js";
import { readTar, type TarEntry, tarEnd, tarEntry } from "../../backups/tar.js";
import { FAILURE_NAME, failureEntry } from "../../backups/transfer.js";
import { CollectorError, collectorErrorOf } from "../../errors.js";
import type { HttpAnswer, HttpRequest } from "../../http/routing/route.js";
import { answerOf, type Owners, type PartAnswer } from "./ask-owners.js";
import { readBody } from "./read-body.js";

const BODY_BYTES = 8 * 1_024 * 1_024;

/** The archive of one partition, which its owner has begun. */
interface OpenedPart {
  readonly partition: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * One archive of the backups of all partitions, each made by its owner. It begins when all owners have begun. A partition that has no owner
 * within the time that requests wait, or whose owner is lost meanwhile, makes the whole backup fail.
 */
export async function mergedBackup(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const body = await readBody(request, BODY_BYTES);
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  const run = owners.newRun();
  const open = (partition: number): Promise<AsyncIterable<Uint8Array> | PartAnswer> =>
    owners.stream(partition, request, { method: "POST", path: request.path, body, run, signal });
  try {
    // The control partition is the first to begin: what it knows of the other logs is then in their parts.
    const [first = 0, ...others] = owners.partitions;
    const opened = [await open(first)];
    if (isStream(opened[0])) opened.push(...(await Promise.all(others.map(open))));
    const refusal = opened.find((one) => !isStream(one)) as PartAnswer | undefined;
    if (refusal !== undefined) {
      over.abort();
      return answerOf(refusal);
    }
    const parts = (opened as AsyncIterable<Uint8Array>[]).map((chunks, index) => ({
      ...{ partition: owners.partitions[index] as number, chunks },
    }));
    return archiveOf(parts, over);
  } catch (error) {
    over.abort();
    throw error;
  }
}

function archiveOf(parts: readonly OpenedPart[], over: AbortController): HttpAnswer {
  return {
    status: 200,
    headers: {
      "content-type": "application/x-tar",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    },
    async stream(write, signal, drained) {
      try {
        await passParts(parts, async (chunk) => {
          // The client is gone, or another part has failed.
          signal.throwIfAborted();
          over.signal.throwIfAborted();
          if (!write(chunk)) await drained();
        });
      } catch (error) {
        over.abort();
        const { detail, message } = collectorErrorOf(error);
        if (!signal.aborted) write(failureEntry(detail ?? message));
      } finally {
        over.abort();
      }
    },
  };
}

/** Passes the pieces of all parts on as they come, each once, and then one manifest. */
async function passParts(
  parts: readonly OpenedPart[],
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  const inOrder = serialQueue();
  const passed = new Set<string>();
  const pass = async ({ name, bytes, modifiedMs }: TarEntry): Promise<void> => {
    if (passed.has(name)) return;
    passed.add(name);
    await write(tarEntry(name, bytes, modifiedMs));
  };
  let modifiedMs = 0;
  const manifests = await Promise.all(
    parts.map(async ({ partition, chunks }): Promise<PartManifest> => {
      try {
        let manifest: PartManifest["manifest"] | undefined;
        for await (const entry of readTar(chunks)) {
          const kind = entryKind(entry.name)?.kind;
          if (entry.name === FAILURE_NAME) throw new Error(Buffer.from(entry.bytes).toString());
          if (kind === "piece") await inOrder(() => pass(entry));
          if (kind === "manifest") manifest = decodeManifest(entry.bytes, "its manifest");
          modifiedMs = Math.max(modifiedMs, entry.modifiedMs);
        }
        if (manifest === undefined) throw new Error("its part has no manifest");
        return { partition, manifest };
      } catch (error) {
        throw new CollectorError(
          "storage_unavailable",
          `partition ${partition} could not be backed up: ${(error as Error).message}. Make the backup again when all partitions have an owner (\`sluice cluster status\`)`,
        );
      }
    }),
  );
  const manifest = mergeManifests(manifests);
  await write(tarEntry(manifestName(manifest), encodeManifest(manifest), modifiedMs));
  await write(tarEnd());
}

function isStream(
  opened: AsyncIterable<Uint8Array> | PartAnswer | undefined,
): opened is AsyncIterable<Uint8Array> {
  return opened !== undefined && Symbol.asyncIterator in opened;
}
