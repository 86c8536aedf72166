import { acknowledgedIsSettled } from "./acknowledged-is-settled.js";
import { audiencesMatch } from "./audiences-match.js";
import { batchesHold } from "./batches-hold.js";
import { beforeSendDecides } from "./before-send-decides.js";
import { boundedConcurrency } from "./bounded-concurrency.js";
import { copiesAreEqual } from "./copies-are-equal.js";
import { deletedStaysDeleted } from "./deleted-stays-deleted.js";
import { holdsNothingAtRest } from "./holds-nothing-at-rest.js";
import type { Invariant } from "./invariant.js";
import { isolation } from "./isolation.js";
import { keepsWhatIsNeeded } from "./keeps-what-is-needed.js";
import { memoryBounds } from "./memory-bounds.js";
import { oneOutcome } from "./one-outcome.js";
import { orderPerUser } from "./order-per-user.js";
import { rateLimitsHold } from "./rate-limits-hold.js";
import { recoveredGetsBacklog } from "./recovered-gets-backlog.js";
import { replacedOwnerStops } from "./replaced-owner-stops.js";
import { replayedOnceMore } from "./replayed-once-more.js";
import { retryAfter } from "./retry-after.js";
import { retryWindow } from "./retry-window.js";
import { rulesHold } from "./rules-hold.js";
import { sdkAccountsForAll } from "./sdk-accounts-for-all.js";
import { sdkCallsEnd } from "./sdk-calls-end.js";
import { sdkDiscards } from "./sdk-discards.js";
import { sdkKeepsOrder } from "./sdk-keeps-order.js";
import { sdkWaitsAsAsked } from "./sdk-waits-as-asked.js";
import { sentNoMoreAfterItsEnd } from "./sent-no-more-after-its-end.js";
import { settingsHold } from "./settings-hold.js";
import { storedOnce } from "./stored-once.js";
import { transformationsHold } from "./transformations-hold.js";
import { usageAddsUp } from "./usage-adds-up.js";

/** Every promise that is checked after each run. */
export const INVARIANTS: readonly Invariant[] = [
  acknowledgedIsSettled,
  storedOnce,
  keepsWhatIsNeeded,
  oneOutcome,
  sentNoMoreAfterItsEnd,
  replacedOwnerStops,
  replayedOnceMore,
  retryWindow,
  retryAfter,
  orderPerUser,
  isolation,
  recoveredGetsBacklog,
  audiencesMatch,
  deletedStaysDeleted,
  copiesAreEqual,
  boundedConcurrency,
  memoryBounds,
  holdsNothingAtRest,
  usageAddsUp,
  sdkAccountsForAll,
  sdkCallsEnd,
  sdkKeepsOrder,
  sdkDiscards,
  sdkWaitsAsAsked,
  settingsHold,
  beforeSendDecides,
  rateLimitsHold,
  rulesHold,
  transformationsHold,
  batchesHold,
];
