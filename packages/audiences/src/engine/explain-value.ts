import type { EventLog, Offset } from "@sluice/event-log";
import { formatTime, type ValuePart, type ValueWhyView } from "@sluice/protocol";
import {
  type Accumulation,
  type AccumulationAspect,
  contributionOf,
  figureNow,
  type Part,
  partsNow,
} from "../conditions/accumulate.js";
import { nextChangeMs } from "../conditions/aspect.js";
import { identificationOf } from "../profiles/identities.js";
import type { Profile } from "../profiles/profile.js";
import { occurrenceOf } from "./track-events.js";

/** Parts that are shown. */
const SHOWN = 20;
/** Events of an id that are looked at, where the value itself does not know what it was made of. */
const LOOKED_AT = 100;
/** Ids of a user that are looked at then. */
const IDS_LOOKED_AT = 100;

/** How a value came about, as far as the profile knows; the log knows the messages. */
export interface ValueReason {
  readonly figure: Omit<ValueWhyView, "madeOf">;
  /** Absent where only the figure is kept: then the log is asked for the events. */
  readonly parts?: readonly Part[];
  readonly aspect: AccumulationAspect;
  /** Every id that the profile answers to. */
  readonly identities: readonly string[];
  /** Later messages are not counted. */
  readonly upTo: Offset;
}

export function reasonOf(
  profile: Profile,
  aspect: AccumulationAspect,
  state: Accumulation | undefined,
  { userId, nowMs, upTo }: { readonly userId: string; readonly nowMs: number; readonly upTo: Offset },
): ValueReason {
  const { value, events, leftOut } = figureNow(aspect, state, nowMs);
  const changesAtMs = nextChangeMs(aspect, state, nowMs);
  const parts = state === undefined ? [] : partsNow(aspect, state, nowMs)?.slice(0, SHOWN);
  return {
    figure: {
      userId,
      ...(value === undefined ? {} : { value }),
      events,
      ...(leftOut === 0 ? {} : { leftOut }),
      ...(aspect.withinMs === undefined ? {} : { windowFrom: formatTime(nowMs - aspect.withinMs) }),
      ...(changesAtMs === undefined ? {} : { changesAt: formatTime(changesAtMs) }),
    },
    ...(parts === undefined ? {} : { parts }),
    aspect,
    identities: profile.identities,
    upTo,
  };
}

/** The reason with the messages that the value is made of. */
export async function explainValue(
  log: Pick<EventLog, "find" | "get">,
  reason: ValueReason,
): Promise<ValueWhyView> {
  const parts = reason.parts ?? (await partsInLog(log, reason));
  const madeOf = await Promise.all(
    parts.map(async ({ atMs, offset, value, times }): Promise<ValuePart> => {
      const stored = await log.get(offset as Offset);
      return {
        at: formatTime(atMs),
        value,
        ...(times === undefined ? {} : { times }),
        ...(stored === undefined ? {} : { messageId: stored.messageId, sourceId: stored.sourceId }),
      };
    }),
  );
  return { ...reason.figure, madeOf };
}

/** The latest of the events. One id after the other: a user may have thousands. */
async function partsInLog(
  log: Pick<EventLog, "find">,
  { aspect, identities, upTo }: ValueReason,
): Promise<readonly Part[]> {
  const own = new Set(identities);
  let latest: Part[] = [];
  for (const userId of askedIds(identities)) {
    const page = await log.find({ userId, type: "track", event: aspect.event }, { limit: LOOKED_AT });
    const found = page.items
      .filter(({ message, offset }) => offset <= upTo && own.has(identificationOf(message)?.own ?? ""))
      .flatMap((stored) => {
        const { atMs, offset, properties } = occurrenceOf(stored);
        const value = contributionOf(aspect, properties);
        return value === undefined ? [] : [{ atMs, offset, value }];
      });
    latest = [...latest, ...found].sort((a, b) => b.atMs - a.atMs || b.offset - a.offset).slice(0, SHOWN);
  }
  return latest;
}

/** The user ids, and the anonymous ids that became known last. The log knows a message by its user id, else its anonymous id. */
function askedIds(identities: readonly string[]): Set<string> {
  const newestFirst = [...identities].reverse();
  const userIds = newestFirst.filter((identity) => identity.startsWith("u:"));
  const others = newestFirst.filter((identity) => !identity.startsWith("u:"));
  return new Set([...userIds, ...others].slice(0, IDS_LOOKED_AT).map((identity) => identity.slice(2)));
}
