import { CollectorError } from "../../errors.js";
import type { HttpAnswer, HttpRequest } from "../../http/routing/route.js";
import { answerOf, type Owners, type PartAnswer } from "./ask-owners.js";

/** Where a list goes on in one partition: after `skip` items from `cursor` on. Undefined: it has ended. */
type Place = { readonly cursor?: string; readonly skip: number } | undefined;

interface PageOf<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** One partition's part of a page. */
interface Part<T> {
  place: Place;
  readonly items: readonly T[];
  readonly nextCursor: string | undefined;
  taken: number;
}

export interface MergedList<T> {
  /** Whether `one` comes before `other`. The lists of all partitions have this order. */
  isBefore(one: T, other: T): boolean;
  /** What a partition's item looks like from outside. Default: the same. */
  shown?(item: T, partition: number): T;
  /** Makes one item of those that are first in their partitions and equal in order. Default: each is an item of its own. */
  merged?(items: readonly PartItem<T>[]): T;
}

/** What one partition shows. */
export interface PartItem<T> {
  readonly partition: number;
  readonly view: T;
}

const DEFAULT_LIMIT = 50;

/** A page of a list that all partitions have a part of. */
export async function mergedPage<T>(
  owners: Owners,
  request: HttpRequest,
  { isBefore, shown = (item) => item, merged }: MergedList<T>,
): Promise<HttpAnswer> {
  const places = readPlaces(request.query.get("cursor"), owners.partitions.length);
  const limit = Number(request.query.get("limit") ?? DEFAULT_LIMIT);
  const answers = await Promise.all(
    owners.partitions.map(async (partition) => {
      const place = places[partition];
      return place === undefined
        ? undefined
        : owners.ask(partition, request, { path: pathOf(request, place) });
    }),
  );
  const refusal = answers.find((answer) => answer !== undefined && answer.status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  const parts = answers.map((answer, partition) => partOf<T>(answer, places[partition]));
  const items = take(parts, limit, isBefore, merged !== undefined).map((group) => {
    const [{ view, partition }] = group;
    return merged === undefined ? shown(view, partition) : merged(group);
  });
  const next = await Promise.all(
    parts.map((part, partition) =>
      nextPlace(part, (path) => owners.ask(partition, request, { path }), request),
    ),
  );
  const isEnd = next.every((place) => place === undefined);
  return { status: 200, body: { items, ...(isEnd ? {} : { nextCursor: writePlaces(next) }) } };
}

function partOf<T>(answer: PartAnswer | undefined, place: Place): Part<T> {
  if (answer === undefined || place === undefined)
    return { place: undefined, items: [], nextCursor: undefined, taken: 0 };
  const { items, nextCursor } = answer.body as PageOf<T>;
  return { place, items: items.slice(place.skip), nextCursor, taken: 0 };
}

/** Takes items in order. Ends early where a partition has more items that are not known yet. */
function take<T>(
  parts: readonly Part<T>[],
  limit: number,
  isBefore: MergedList<T>["isBefore"],
  areMerged: boolean,
): Group<T>[] {
  const taken: Group<T>[] = [];
  while (taken.length < limit) {
    if (parts.some((part) => headOf(part) === undefined && part.nextCursor !== undefined)) break;
    const heads = parts.flatMap((part, partition) => {
      const item = headOf(part);
      return item === undefined ? [] : [{ view: item, partition }];
    });
    if (heads.length === 0) break;
    const first = heads.reduce((best, head) => (isBefore(head.view, best.view) ? head : best));
    const others = areMerged
      ? heads.filter((head) => head !== first && !isBefore(first.view, head.view))
      : [];
    const group: Group<T> = [first, ...others];
    taken.push(group);
    for (const { partition } of group) (parts[partition] as Part<T>).taken += 1;
  }
  return taken;
}

/** The parts of one item. */
type Group<T> = readonly [PartItem<T>, ...PartItem<T>[]];

function headOf<T>({ items, taken }: Part<T>): T | undefined {
  return items[taken];
}

/** Where the next page of a partition begins: behind what was taken of this one. */
async function nextPlace<T>(
  { place, items, nextCursor, taken }: Part<T>,
  ask: (path: string) => Promise<PartAnswer>,
  request: HttpRequest,
): Promise<Place> {
  if (place === undefined) return undefined;
  if (taken === items.length) return nextCursor === undefined ? undefined : { cursor: nextCursor, skip: 0 };
  if (taken === 0) return place;
  const skip = place.skip + taken;
  // New items come before those of the first page, so its part is remembered by the cursor behind it.
  const again = await ask(pathOf(request, { ...place, skip: 0 }, skip));
  const cursor = again.status === 200 ? (again.body as PageOf<T>).nextCursor : undefined;
  return cursor === undefined ? { ...place, skip } : { cursor, skip: 0 };
}

function pathOf({ path, query }: HttpRequest, { cursor }: NonNullable<Place>, limit?: number): string {
  const asked = new URLSearchParams(query);
  asked.delete("cursor");
  if (cursor !== undefined) asked.set("cursor", cursor);
  if (limit !== undefined) asked.set("limit", String(limit));
  return asked.size === 0 ? path : `${path}?${asked}`;
}

function writePlaces(places: readonly Place[]): string {
  const written = places.map((place) => (place === undefined ? 0 : [place.cursor ?? 0, place.skip]));
  return Buffer.from(JSON.stringify(written)).toString("base64url");
}

function readPlaces(cursor: string | null, count: number): readonly Place[] {
  if (cursor === null) return Array.from({ length: count }, () => ({ skip: 0 }));
  try {
    const places: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    // A list that has ended in all partitions has no cursor.
    if (Array.isArray(places) && places.length === count && places.some((place) => place !== 0))
      return places.map(readPlace);
  } catch {
    // Below.
  }
  throw new CollectorError("invalid_request", `${JSON.stringify(cursor)} is not a cursor of this list`);
}

function readPlace(written: unknown): Place {
  if (written === 0) return undefined;
  const [cursor, skip] = written as readonly [unknown, unknown];
  if (typeof skip !== "number") throw new TypeError("not a place");
  return { ...(typeof cursor === "string" ? { cursor } : {}), skip };
}
