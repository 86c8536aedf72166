import { isPlainObject } from "@sluice/protocol";

/** Ids of deliveries are unique in their partition only. Outside of it they name it, unless it is the first. */

/** `dst_4kZ….1042` of partition 2 is `dst_4kZ….2-1042`. */
const DELIVERY_ID = /^(.+)\.(?:(\d{1,4})-)?(\d{1,15})$/;
/** `op_4kZ…` of partition 2 is `op_4kZ….2`. */
const PART_ID = /^(.+?)(?:\.(\d{1,4}))?$/;
const SEPARATOR = "~";

export interface PartId {
  readonly partition: number;
  /** As the partition knows it. */
  readonly id: string;
}

/** Undefined if it is not the id of a delivery. */
export function readDeliveryId(id: string): PartId | undefined {
  const match = DELIVERY_ID.exec(id);
  if (match === null) return undefined;
  const [, destinationId, partition = "0", offset] = match;
  return { partition: Number(partition), id: `${destinationId}.${offset}` };
}

/** The answer of a partition, with ids of deliveries that name it. */
export function withDeliveryIds<T>(value: T, partition: number): T {
  return partition === 0 ? value : (qualified(value, partition) as T);
}

function qualified(value: unknown, partition: number): unknown {
  if (Array.isArray(value)) return value.map((item) => qualified(item, partition));
  if (!isPlainObject(value)) return value;
  const { id, destinationId } = value as { id?: unknown; destinationId?: unknown };
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      // Messages are the users' own.
      if (name === "message" || name === "settings") return [name, field];
      const isDelivery =
        name === "id" && typeof id === "string" && DELIVERY_ID.exec(id)?.[1] === destinationId;
      return [name, isDelivery ? namedDelivery(id, partition) : qualified(field, partition)];
    }),
  );
}

function namedDelivery(id: string, partition: number): string {
  const dot = id.lastIndexOf(".");
  return `${id.slice(0, dot)}.${partition}-${id.slice(dot + 1)}`;
}

/** The id of something that runs in several partitions. */
export function joinIds(parts: readonly PartId[]): string {
  return parts.map(({ partition, id }) => (partition === 0 ? id : `${id}.${partition}`)).join(SEPARATOR);
}

/** All parts have this id, or there is only one partition in which it is. */
export function isOfOnePart(id: string): boolean {
  return !/[.~]/.test(id);
}

/** What `joinIds` has joined. */
export function splitId(id: string): readonly PartId[] {
  return id.split(SEPARATOR).map((part) => {
    const [, own = part, partition = "0"] = PART_ID.exec(part) ?? [];
    return { id: own, partition: Number(partition) };
  });
}
