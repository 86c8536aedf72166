import { createHash, randomUUID } from "node:crypto";
import {
  EngineUnavailable,
  SnapshotDamaged,
  type SnapshotRecord,
  type SnapshotStorage,
} from "../replicated/engine.js";
import { availableOr, reasonOf } from "./api-errors.js";
import { CheckFailed, followStream, type StreamAccess } from "./follow-stream.js";
import { type ObjectBucket, type ObjectMeta, objectBucket } from "./object-bucket.js";

/** Larger chunks make fewer rounds of syncs; the server's limit of a message may be smaller. */
const CHUNK_BYTES = 512 * 1024;
const HEADER_BYTES = 1_024;
/** Chunks without an object are removed when nothing was added to them for this long. */
const ABANDONED_MS = 60 * 60_000;

/** Cuts a stream of bytes into pieces of the same size. */
export async function* inChunks(parts: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let kept: Uint8Array[] = [];
  let length = 0;
  for await (const part of parts) {
    let rest = part;
    while (length + rest.byteLength >= bytes) {
      const cut = bytes - length;
      yield Buffer.concat([...kept, rest.subarray(0, cut)]);
      rest = rest.subarray(cut);
      kept = [];
      length = 0;
    }
    if (rest.byteLength > 0) kept.push(rest);
    length += rest.byteLength;
  }
  if (length > 0) yield Buffer.concat(kept);
}

const digestText = (hash: ReturnType<typeof createHash>): string =>
  `SHA-256=${hash.digest("base64").replaceAll("+", "-").replaceAll("/", "_")}`;

/** Snapshots in a bucket that has the layout of NATS' object stores, so that the tools of NATS can list and fetch them. */
export function jetStreamSnapshots(
  access: StreamAccess,
  options: { readonly stream: string; readonly bucket: string },
): SnapshotStorage {
  const bucket = objectBucket(access, options);
  return {
    put: (name, metadata, parts) => put(access, bucket, { name, metadata, parts }),
    async get(name) {
      const meta = await availableOr(() => bucket.metaOf(name));
      return meta === undefined ? undefined : download(access, bucket, meta);
    },
    list: () =>
      availableOr(async () =>
        (await bucket.metas())
          .map(({ name, size, metadata }) => ({ name, bytes: size, metadata: metadata ?? {} }))
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
      ),
    remove: (name) =>
      availableOr(async () => {
        const meta = await bucket.metaOf(name);
        if (meta === undefined) return;
        // The chunks of an object that is listed are always there.
        await bucket.purge(bucket.metaSubject(name));
        await bucket.purge(bucket.chunkSubject(meta.nuid));
      }),
    removeUnfinished: () => availableOr(() => removeAbandoned(access, bucket, 0)),
  };
}

interface Blob {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parts: AsyncIterable<Uint8Array>;
}

async function put(access: StreamAccess, bucket: ObjectBucket, blob: Blob): Promise<SnapshotRecord> {
  const nuid = randomUUID().replaceAll("-", "");
  const before = await availableOr(() => bucket.metaOf(blob.name));
  try {
    const record = await upload(access, bucket, blob, nuid);
    // The new one is complete: what fails from here is repeated with the next upload.
    if (before !== undefined) await bucket.purge(bucket.chunkSubject(before.nuid)).catch(() => {});
    await removeAbandoned(access, bucket, ABANDONED_MS).catch(() => {});
    return record;
  } catch (error) {
    await bucket.purge(bucket.chunkSubject(nuid)).catch(() => {});
    throw new EngineUnavailable(`the snapshot ${blob.name} was not stored: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

async function upload(
  access: StreamAccess,
  bucket: ObjectBucket,
  { name, metadata, parts }: Blob,
  nuid: string,
): Promise<SnapshotRecord> {
  const hash = createHash("sha256");
  const chunkBytes = Math.min(CHUNK_BYTES, access.maxPayloadBytes() - HEADER_BYTES);
  let size = 0;
  let chunks = 0;
  for await (const chunk of inChunks(parts, chunkBytes)) {
    hash.update(chunk);
    size += chunk.byteLength;
    chunks += 1;
    await bucket.publish(bucket.chunkSubject(nuid), chunk, { id: `${nuid}-${chunks}`, isOnly: false });
  }
  if (chunks > 0 && (await bucket.chunkCount(nuid)) !== chunks)
    throw new Error("its parts were removed meanwhile");
  const meta: ObjectMeta = {
    name,
    bucket: bucket.name,
    nuid,
    size,
    chunks,
    digest: digestText(hash),
    mtime: new Date(access.clock.now()).toISOString(),
    metadata,
  };
  await bucket.publish(bucket.metaSubject(name), JSON.stringify(meta), { id: `${nuid}-meta`, isOnly: true });
  return { name, bytes: size, metadata };
}

/** Removes the chunks without an object to which nothing was added for this long. */
async function removeAbandoned(access: StreamAccess, bucket: ObjectBucket, ms: number): Promise<void> {
  const known = new Set((await bucket.metas()).map(({ nuid }) => nuid));
  for (const { nuid, newestAtMs } of await bucket.chunked()) {
    const isOld = ms === 0 || access.clock.now() - newestAtMs > ms;
    if (isOld && !known.has(nuid)) await bucket.purge(bucket.chunkSubject(nuid));
  }
}

async function* download(
  access: StreamAccess,
  bucket: ObjectBucket,
  meta: ObjectMeta,
): AsyncGenerator<Uint8Array> {
  const ending = new AbortController();
  const hash = createHash("sha256");
  let chunks = 0;
  const check = async (): Promise<void> => {
    const [now, stored] = await Promise.all([bucket.metaOf(meta.name), bucket.chunkCount(meta.nuid)]).catch(
      (error: unknown) => {
        throw new CheckFailed("the stream's leader does not answer", { cause: error });
      },
    );
    if (now?.nuid !== meta.nuid)
      throw new SnapshotDamaged(`the snapshot ${meta.name} was removed while it was read`);
    // Otherwise the reader would wait for the missing ones without end.
    if (stored < meta.chunks)
      throw new SnapshotDamaged(`the snapshot ${meta.name} has ${stored} of ${meta.chunks} parts`);
  };
  const of = { stream: bucket.stream, from: 1, subject: bucket.chunkSubject(meta.nuid) };
  try {
    if (meta.chunks > 0) {
      for await (const message of followStream(access, { ...of, signal: ending.signal, check })) {
        hash.update(message.data);
        chunks += 1;
        yield message.data;
        if (chunks === meta.chunks) break;
      }
    }
  } finally {
    ending.abort();
  }
  if (digestText(hash) !== meta.digest)
    throw new SnapshotDamaged(`the snapshot ${meta.name} does not have the bytes that were stored`);
}
