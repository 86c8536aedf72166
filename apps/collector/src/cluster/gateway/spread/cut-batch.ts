import type { UsersOfBatch } from "./find-users.js";

/** The messages of a batch that belong to one partition. */
export interface BatchPart {
  readonly partition: number;
  /** The batch without the other messages: the same bytes around, and of each message. */
  readonly body: Uint8Array;
  /** The place of each of its messages in the whole batch, ascending. Undefined: it is the whole batch. */
  readonly indexes: readonly number[] | undefined;
}

const SEPARATOR = 0x2c;

/** Cuts a batch by the users of its messages, which keep their order. `partitions`: those of the source. */
export function cutBatch(
  body: Uint8Array,
  { starts, ends, hashes }: UsersOfBatch,
  partitions: readonly number[],
): readonly BatchPart[] {
  const indexes: number[][] = partitions.map(() => []);
  for (let i = 0; i < hashes.length; i++) indexes[(hashes[i] as number) % partitions.length]?.push(i);
  const begin = starts[0] as number;
  const end = ends.at(-1) as number;
  return indexes.flatMap((own, at): BatchPart[] => {
    const partition = partitions[at] as number;
    if (own.length === 0) return [];
    if (own.length === starts.length) return [{ partition, body, indexes: undefined }];
    return [{ partition, body: joined(body, begin, end, own, { starts, ends }), indexes: own }];
  });
}

/** What stands before `begin` and from `end` on, and the chosen messages between. */
function joined(
  body: Uint8Array,
  begin: number,
  end: number,
  chosen: readonly number[],
  { starts, ends }: Pick<UsersOfBatch, "starts" | "ends">,
): Uint8Array {
  let length = begin + body.length - end + chosen.length - 1;
  for (const index of chosen) length += (ends[index] as number) - (starts[index] as number);
  const part = Buffer.allocUnsafe(length);
  part.set(body.subarray(0, begin));
  let at = begin;
  for (const index of chosen) {
    if (at > begin) part[at++] = SEPARATOR;
    const message = body.subarray(starts[index], ends[index]);
    part.set(message, at);
    at += message.length;
  }
  part.set(body.subarray(end), at);
  return part;
}
