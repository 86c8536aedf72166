import { AUDIENCE_SOURCE_ID, type Audiences } from "@sluice/audiences";
import { BEFORE_FIRST, type Offset, type Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Logger } from "../process/telemetry/logger.js";
import type { SharedProfiles } from "./shared-profiles.js";

export interface AudiencesElsewhereOptions {
  readonly store: Pick<Store, "consumers">;
  readonly profiles: SharedProfiles;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often retention is told how far the messages are counted, in milliseconds. */
const POSITION_EVERY_MS = 60_000;

/**
 * The audiences of a partition that has none of its own, because partition 0 counts its messages. Retention keeps what is not counted
 * yet. Questions of the control API go to partition 0, so they are refused here.
 */
export async function audiencesElsewhere(options: AudiencesElsewhereOptions): Promise<Audiences> {
  const { store, profiles } = options;
  const { cursor } = await store.consumers.open(AUDIENCE_SOURCE_ID, BEFORE_FIRST);
  const stop = keepPosition(options, cursor);
  return {
    ...QUESTIONS,
    counted: () => profiles.counted(),
    identitiesOf: async (identity, includeAliases) => profiles.identitiesOf(identity, includeAliases),
    forget: async (users) => profiles.forget(users),
    compact: () => profiles.compact(),
    refusedJoins: (message) => profiles.refusedJoins(message),
    async reset(clearLog) {
      await clearLog();
      await profiles.forgetAll();
    },
    requireInForce: () => refused(),
    follow: async () => {},
    sizes: async () => [],
    engine: async () => ({ behind: 0, setAside: [] }),
    beginSnapshot: async (beginLog) => ({ profiles: undefined, log: await beginLog() }),
    snapshot: { read: refused, end: async () => {} },
    close: async () => stop(),
  };
}

function refused(): never {
  throw new Error("partition 0 answers questions about audiences and profiles");
}

const QUESTIONS = {
  stats: async () => refused(),
  members: async () => refused(),
  why: async () => refused(),
  whyValue: async () => refused(),
  profile: async () => refused(),
  search: async () => refused(),
  preview: async () => refused(),
  previewTrait: async () => refused(),
  values: async () => refused(),
};

/** Moves the consumer that holds back retention. Returns a function that ends it. */
function keepPosition(
  { store, profiles, clock, logger }: AudiencesElsewhereOptions,
  stored: Offset,
): () => void {
  let cursor = stored;
  const move = async (): Promise<void> => {
    const counted = await profiles.position();
    if (counted === undefined || counted <= cursor) return;
    await store.consumers.settle(AUDIENCE_SOURCE_ID, {
      cursor: counted,
      outcomes: [],
      retries: [],
      attempts: [],
    });
    cursor = counted;
  };
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = clock.after(POSITION_EVERY_MS, () => {
      wait();
      move().catch((error: unknown) =>
        logger.warn("cannot learn how far audiences have counted this partition", { error }),
      );
    });
  };
  wait();
  return () => cancel();
}
