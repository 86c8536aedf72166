import { AUDIENCE, type Audiences } from "@sluice/audiences";
import type { AudienceSizesView, SizeSpan } from "@sluice/control-api";
import { type ConfigStore, mirrorDocuments } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { hourOf, type KeptSizes, SIZE_SPANS, sizesWithin, withSize } from "./size-points.js";

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
