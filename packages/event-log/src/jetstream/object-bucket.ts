import { headers } from "@nats-io/transport-node";
import { failedAppend } from "./api-errors.js";
import type { StreamAccess } from "./follow-stream.js";
import { lastMessage, subjectsOf } from "./last-messages.js";

/** What the object store of NATS keeps about an object, as far as it is used here. */
export interface ObjectMeta {
  readonly name: string;
  readonly bucket: string;
  readonly nuid: string;
  readonly size: number;
  readonly chunks: number;
  readonly digest: string;
  readonly mtime: string;
  readonly deleted?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The messages of an object store of NATS: one with the facts of each object, and its chunks under another subject. */
export interface ObjectBucket {
  readonly name: string;
  readonly stream: string;
  metaSubject(name: string): string;
  chunkSubject(nuid: string): string;
  /** Undefined if there is no such object. */
  metaOf(name: string): Promise<ObjectMeta | undefined>;
  metas(): Promise<ObjectMeta[]>;
  /** How many chunks are stored under this id. */
  chunkCount(nuid: string): Promise<number>;
  /** What has chunks, whole or not. */
  chunked(): Promise<{ readonly nuid: string; readonly newestAtMs: number }[]>;
  /**
   * Publishes a message until it is known to be stored. The server recognizes its id, so it is there once. `isOnly` removes what the
   * subject had before.
   */
  publish(
    subject: string,
    data: Uint8Array | string,
    options: { readonly id: string; readonly isOnly: boolean },
  ): Promise<void>;
  purge(subject: string): Promise<void>;
}

const ANSWER_MS = 5_000;
/** How often a message is sent again. An election lasts for a few of these. */
const ATTEMPTS = 12;
const RETRY_MS = 250;

const encoded = (name: string): string =>
  Buffer.from(name).toString("base64").replaceAll("+", "-").replaceAll("/", "_");

export function objectBucket(
  access: StreamAccess,
  { stream, bucket: name }: { readonly stream: string; readonly bucket: string },
): ObjectBucket {
  const { client, manager, clock, link } = access;
  const metaStart = `$O.${name}.M.`;
  const chunkStart = `$O.${name}.C.`;
  const metaAt = async (subject: string): Promise<ObjectMeta | undefined> => {
    const found = await lastMessage(access, stream, subject);
    if (found === undefined) return undefined;
    const meta = JSON.parse(found.text) as ObjectMeta;
    return meta.deleted === true ? undefined : meta;
  };

  return {
    name,
    stream,
    metaSubject: (object) => `${metaStart}${encoded(object)}`,
    chunkSubject: (nuid) => `${chunkStart}${nuid}`,
    metaOf: (object) => metaAt(`${metaStart}${encoded(object)}`),
    async metas() {
      const metas = await Promise.all((await subjectsOf(access, stream, `${metaStart}>`)).map(metaAt));
      return metas.filter((meta) => meta !== undefined);
    },
    async chunkCount(nuid) {
      const subject = `${chunkStart}${nuid}`;
      const { state } = await manager.streams.info(stream, { subjects_filter: subject });
      return state.subjects?.[subject] ?? 0;
    },
    async chunked() {
      const subjects = await subjectsOf(access, stream, `${chunkStart}>`);
      const newest = await Promise.all(subjects.map((subject) => lastMessage(access, stream, subject)));
      return subjects.flatMap((subject, index) => {
        const message = newest[index];
        if (message === undefined) return [];
        return [{ nuid: subject.slice(chunkStart.length), newestAtMs: message.storedAtMs }];
      });
    },
    async publish(subject, data, { id, isOnly }) {
      for (let attempt = 1; ; attempt++) {
        const header = headers();
        if (isOnly) header.set("Nats-Rollup", "sub");
        const options = { timeout: ANSWER_MS, msgID: id, headers: header, expect: { streamName: stream } };
        try {
          await link.connected(ANSWER_MS);
          await link.whileConnected(client.publish(subject, data, options));
          return;
        } catch (error) {
          if (failedAppend(error).kind !== "unknown" || attempt === ATTEMPTS) throw error;
          await clock.sleep(RETRY_MS);
        }
      }
    },
    async purge(subject) {
      await manager.streams.purge(stream, { filter: subject });
    },
  };
}
