import type { ValuePart, ValueWhyView } from "@sluice/control-api";
import type { MessageQuery, Offset, StoredMessage } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { nextChangeMs } from "../../conditions/aggregate.js";
import {
  contributionOf,
  type Part,
  partsNow,
  type ValueSpec,
  type ValueState,
  valueNow,
} from "../../conditions/value.js";
import { identificationOf } from "../../profiles/identities.js";
import type { Profile } from "../../profiles/profile.js";
import { occurrenceOf } from "../messages/take-message.js";

/** Events in an explanation. */
const SHOWN = 20;
/** Events of one id that are looked for in the log. */
const SEARCHED_EVENTS = 100;
/** Ids of a user whose events are looked for in the log. */
const SEARCHED_IDS = 100;

/** What the profile knows of how a value was made; the messages are in the log. */
export interface ValueReason {
  readonly summary: Omit<ValueWhyView, "madeOf">;
  /** Absent if the profile keeps only a number: then the events are looked for in the log. */
  readonly parts?: readonly Part[];
  readonly spec: ValueSpec;
  /** All ids of the profile. */
  readonly identities: readonly string[];
  /** Later messages are not counted. */
  readonly upTo: Offset;
}

export function reasonOf(
  profile: Profile,
  spec: ValueSpec,
  state: ValueState | undefined,
  { userId, nowMs, upTo }: { readonly userId: string; readonly nowMs: number; readonly upTo: Offset },
): ValueReason {
  const { value, events, leftOut } = valueNow(spec, state, nowMs);
  const changesAtMs = nextChangeMs(spec, state, nowMs);
  const parts = state === undefined ? [] : partsNow(spec, state, nowMs)?.slice(0, SHOWN);
  return {
    summary: {
      userId,
      ...(value === undefined ? {} : { value }),
      events,
      ...(leftOut === 0 ? {} : { leftOut }),
      ...(spec.withinMs === undefined ? {} : { windowFrom: formatTime(nowMs - spec.withinMs) }),
      ...(changesAtMs === undefined ? {} : { changesAt: formatTime(changesAtMs) }),
    },
    ...(parts === undefined ? {} : { parts }),
    spec,
    identities: profile.identities,
    upTo,
  };
}

/** Where the messages are. */
export interface MessageLookUp {
  get(offset: Offset): Promise<StoredMessage | undefined>;
  find(
    query: MessageQuery,
    page: { readonly limit: number },
  ): Promise<{ readonly items: readonly StoredMessage[] }>;
}

/** Adds the messages that the value is made of. */
export async function explainValue(log: MessageLookUp, reason: ValueReason): Promise<ValueWhyView> {
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
  return { ...reason.summary, madeOf };
}

/** The latest events. The ids are looked for one after another, because a user may have thousands. */
async function partsInLog(
  log: Pick<MessageLookUp, "find">,
  { spec, identities, upTo }: ValueReason,
): Promise<readonly Part[]> {
  const own = new Set(identities);
  let latest: Part[] = [];
  for (const userId of searchedIds(identities)) {
    const page = await log.find({ userId, type: "track", event: spec.event }, { limit: SEARCHED_EVENTS });
    const found = page.items
      .filter(({ message, offset }) => offset <= upTo && own.has(identificationOf(message)?.own ?? ""))
      .flatMap((stored) => {
        const { atMs, offset, properties } = occurrenceOf(stored);
        const value = contributionOf(spec, properties);
        return value === undefined ? [] : [{ atMs, offset, value }];
      });
    latest = [...latest, ...found].sort((a, b) => b.atMs - a.atMs || b.offset - a.offset).slice(0, SHOWN);
  }
  return latest;
}

/** The user ids, then the newest anonymous ids. The log indexes a message by its user id or else by its anonymous id. */
function searchedIds(identities: readonly string[]): Set<string> {
  const newestFirst = [...identities].reverse();
  const userIds = newestFirst.filter((identity) => identity.startsWith("u:"));
  const others = newestFirst.filter((identity) => !identity.startsWith("u:"));
  return new Set([...userIds, ...others].slice(0, SEARCHED_IDS).map((identity) => identity.slice(2)));
}
