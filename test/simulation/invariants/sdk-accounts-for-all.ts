import type { Invariant } from "./invariant.js";

/** Counters of the SDK. */
export const sdkAccountsForAll: Invariant = {
  name: "sdk-accounts-for-all",
  promise:
    "After `close()`, an SDK has reported each message that it accepted exactly once, as delivered, failed or refused. What it reported as delivered was acknowledged.",
  check({ cast }) {
    const { calls, reports, acknowledgements, closed } = cast.history;
    const wrong: string[] = [];
    const times = new Map<string, number>();
    for (const { messageId } of reports) times.set(messageId, (times.get(messageId) ?? 0) + 1);
    const acknowledged = new Set(acknowledgements.flatMap(({ messageIds }) => messageIds));
    for (const { messageId, kind } of reports)
      if (kind === "delivered" && !acknowledged.has(messageId))
        wrong.push(`${messageId} was reported as delivered and never acknowledged`);
    for (const { sdk, run, messageId, accepted } of calls) {
      const reported = times.get(messageId) ?? 0;
      const spools = cast.sdks.find(({ plan }) => plan.name === sdk)?.plan.spools === true;
      // A spool sends again what a crash left on disk, and reports it again.
      if (reported > 1 && !spools) wrong.push(`${messageId} was reported ${reported} times`);
      if (accepted && reported === 0 && !spools && closed.has(`${sdk} ${run}`))
        wrong.push(`${messageId} was accepted by ${sdk} and never reported`);
    }
    return wrong;
  },
};
