import { AUDIENCE, type Audiences } from "@sluice/audiences";
import type { AudienceSizesView, SizeSpan } from "@sluice/control-api";
import { type ConfigStore, mirrorDocuments } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { CancelTimer, Clock } from "@sluice/resilience";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Resolution and length of each span: 533 points in total. */
const SIZE_SPANS: Readonly<Record<SizeSpan, { readonly everyMs: number; readonly points: number }>> = {
  week: { everyMs: HOUR_MS, points: 168 },
  year: { everyMs: DAY_MS, points: 365 },
};

type SizePoint = readonly [atMs: number, size: number];

/** The points of one audience, oldest first. Stored as it is: the field names are a format. */
export type KeptSizes = { readonly [span in SizeSpan]: readonly SizePoint[] };

/**
 * Points that are further ahead than this were stored by a clock that was wrong, and are removed. If a clock was set back by less,
 * points begin again when it reaches the last one.
 */
const LONGEST_WAIT_MS = DAY_MS;

/** The number of the hour of UTC. Within it, an audience gets no second point. */
function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

/** Adds a point to each span that has none for its hour or day of UTC. Returns `kept` itself if that changes nothing. */
export function withSize(kept: KeptSizes | undefined, point: SizePoint): KeptSizes {
  const week = pointsWith(kept?.week ?? [], point, "week");
  const year = pointsWith(kept?.year ?? [], point, "year");
  return week === kept?.week && year === kept?.year ? kept : { week, year };
}

function pointsWith(points: readonly SizePoint[], point: SizePoint, span: SizeSpan): readonly SizePoint[] {
  const { everyMs, points: most } = SIZE_SPANS[span];
  const [atMs] = point;
  const valid = points.filter(([at]) => at <= atMs + LONGEST_WAIT_MS);
  const last = valid.at(-1);
  if (last === undefined || Math.floor(atMs / everyMs) > Math.floor(last[0] / everyMs))
    return [...valid, point].slice(-most);
  return valid.length === points.length ? points : valid;
}

/** The points within the span that ends now. */
export function sizesWithin(
  kept: KeptSizes | undefined,
  span: SizeSpan,
  nowMs: number,
): readonly SizePoint[] {
  const { everyMs, points: most } = SIZE_SPANS[span];
  return (kept?.[span] ?? []).filter(([at]) => at > nowMs - everyMs * most && at <= nowMs);
}

/** How soon a new audience gets its first point. */
const LOOK_EVERY_MS = 60_000;
/** One document of at most 20 KB per audience, written at most once an hour. */
const KIND = "audience_sizes";

/** How many members each audience had over the last week and year. */
export interface SizeHistory {
  read(audienceId: string, span: SizeSpan): Promise<AudienceSizesView>;
  /** Resolves when nothing is written any more. */
  close(): Promise<void>;
}

/** Stores the sizes of audiences, as the engine knows them, regularly until it is closed. */
export async function startSizeHistory(
  audiences: Pick<Audiences, "sizes">,
  clock: Clock,
  config: ConfigStore,
): Promise<SizeHistory> {
  /** The hour for which each audience has its points. */
  const hours = new Map<string, number>();
  const known = await mirrorDocuments(config, AUDIENCE, async (id, document) => {
    if (document !== undefined) return;
    hours.delete(id);
    await config.delete(KIND, id);
  });
  // A kill may have left the history of an audience that was deleted.
  for (const { id } of await config.list(KIND))
    if (known.get(id) === undefined) await config.delete(KIND, id);

  const take = async (id: string, size: number): Promise<void> => {
    const atMs = clock.now();
    if (hours.get(id) === hourOf(atMs)) return;
    const kept = (await config.get<KeptSizes>(KIND, id))?.value;
    if (isClosed || known.get(id) === undefined) return;
    const points = withSize(kept, [atMs, size]);
    if (points !== kept) await config.put(KIND, id, points);
    if (known.get(id) !== undefined) hours.set(id, hourOf(atMs));
  };
  const takeAll = async (): Promise<void> => {
    // Others report that the engine or the store fails. The next look, a minute later, takes the points.
    const sizes = await audiences.sizes().catch(() => []);
    for (const { id, size } of sizes) if (known.get(id) !== undefined) await take(id, size).catch(() => {});
  };
  let isClosed = false;
  let taking: Promise<void> = Promise.resolve();
  const look = (): void => {
    taking = takeAll().then(() => {
      if (!isClosed) cancel = clock.after(LOOK_EVERY_MS, look);
    });
  };
  let cancel: CancelTimer = clock.after(LOOK_EVERY_MS, look);
  return {
    async read(audienceId, span) {
      const kept = (await config.get<KeptSizes>(KIND, audienceId))?.value;
      const points = sizesWithin(kept, span, clock.now());
      return {
        everyMs: SIZE_SPANS[span].everyMs,
        points: points.map(([at, size]) => ({ at: formatTime(at), size })),
      };
    },
    async close() {
      isClosed = true;
      cancel();
      known.close();
      await taking;
    },
  };
}
