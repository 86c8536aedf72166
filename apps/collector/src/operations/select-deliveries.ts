import { causeOf, type OperationFilter, type OperationKind } from "@sluice/control-api";
import type { Delivery, Offset, Store, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { type MessageLoader, messageLoader } from "../delivery/reading/message-loader.js";

/** What an operation selects at one destination. */
export interface Selection {
  readonly destinationId: string;
  readonly states: readonly Delivery["state"][];
  readonly cause?: string;
  readonly messageId?: string;
  readonly type?: string;
  readonly event?: string;
  /** `userId`, or `anonymousId` where there is none. */
  readonly userId?: string;
  /** By receipt, inclusive and exclusive. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

const FINAL = ["delivered", "failed", "filtered", "skipped", "suppressed", "discarded"] as const;
const TROUBLED = ["failed", "pending"] as const;
const PAGE = 500;

/** The states that a kind of operation applies to. None if the filter's state is not one of them. */
export function statesFor(
  kind: OperationKind,
  state: OperationFilter["state"],
): readonly Delivery["state"][] {
  const all: readonly Delivery["state"][] = kind === "replay" ? FINAL : TROUBLED;
  return state === undefined ? all : all.filter((one) => one === state);
}

/** Offsets of the deliveries that match, newest first, in parts. A part may be empty. */
export async function* selectDeliveries(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  selection: Selection,
): AsyncGenerator<readonly Offset[]> {
  const { messageId, userId, event, type } = selection;
  if (selection.states.length === 0) return;
  // The log has an index for these. It is slower where nearly all messages match, as in a search by type or time.
  const isIndexed = messageId !== undefined || userId !== undefined || event !== undefined;
  const isOfAny = selection.states.length >= FINAL.length;
  if (isIndexed || (isOfAny && type !== undefined)) yield* fromLog(store, selection);
  else yield* fromDeliveries(store, messageLoader(store.log, clock), selection);
}

async function* fromLog(store: Store, selection: Selection): AsyncGenerator<readonly Offset[]> {
  const { destinationId, states, cause, ...query } = selection;
  let cursor: string | undefined;
  do {
    const page = await store.log.find(query, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const found: Offset[] = [];
    for (const { offset } of page.items) {
      const [delivery] = await store.consumers.outcomesOf(offset, destinationId);
      if (delivery !== undefined && states.includes(delivery.state) && isOfCause(delivery, cause))
        found.push(offset);
    }
    yield found;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function* fromDeliveries(
  { consumers }: Store,
  loader: MessageLoader,
  selection: Selection,
): AsyncGenerator<readonly Offset[]> {
  const { destinationId, states, cause, type, fromMs, toMs } = selection;
  const needsMessage = type !== undefined || fromMs !== undefined || toMs !== undefined;
  let before: number | undefined;
  do {
    const part = await consumers.scan(destinationId, states, before);
    before = part.before;
    const offsets = part.items.filter((item) => isOfCause(item, cause)).map(({ offset }) => offset);
    if (needsMessage) yield* matching(offsets, loader, selection);
    else yield offsets;
  } while (before !== undefined);
}

/** Those whose messages match, in parts. */
async function* matching(
  offsets: readonly Offset[],
  loader: MessageLoader,
  selection: Selection,
): AsyncGenerator<readonly Offset[]> {
  for (let at = 0; at < offsets.length; at += PAGE) {
    const found: Offset[] = [];
    for (const offset of offsets.slice(at, at + PAGE)) {
      const stored = await loader.load(offset);
      if (stored !== undefined && matches(stored, selection)) found.push(offset);
    }
    yield found;
  }
}

function isOfCause({ reason }: Pick<Delivery, "reason">, cause: string | undefined): boolean {
  return cause === undefined || causeOf(reason) === cause;
}

function matches({ receivedAtMs, message }: StoredMessage, { type, fromMs, toMs }: Selection): boolean {
  return (
    (type === undefined || type === message.type) &&
    receivedAtMs >= (fromMs ?? Number.NEGATIVE_INFINITY) &&
    receivedAtMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}
