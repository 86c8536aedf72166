import type { Call, History, SdkReport } from "../actors/history.js";
import type { Cast } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** Reports of the SDK. */
export const sdkAccountsForAll: Invariant = {
  name: "sdk-accounts-for-all",
  promise:
    "After `close()`, an SDK has reported each message that it accepted exactly once, as delivered, failed or refused, or a spool has kept it. What a spool has kept is reported later, whatever crashes in between. What is reported as delivered was acknowledged.",
  check({ cast }) {
    const { history } = cast;
    const acknowledged = new Set(history.acknowledgements.flatMap(({ messageIds }) => messageIds));
    const reports = new Map<string, SdkReport[]>();
    const wrong: string[] = [];
    for (const report of history.reports) {
      const { messageId, kind, code } = report;
      reports.set(messageId, [...(reports.get(messageId) ?? []), report]);
      if (kind === "delivered" && !acknowledged.has(messageId))
        wrong.push(`${messageId} was reported as delivered and never acknowledged`);
      if (code === "spool_damaged") wrong.push(`a crash damaged what the spool had kept: ${messageId}`);
    }
    for (const call of history.calls)
      wrong.push(...wrongReports(call, reports.get(call.messageId) ?? [], cast));
    for (const messageId of history.kept.keys())
      if (!reports.has(messageId) && !acknowledged.has(messageId))
        wrong.push(`${messageId} was kept by a spool, and nothing was reported about it`);
    return wrong;
  },
};

function wrongReports(
  { sdk, run, messageId, accepted }: Call,
  reports: readonly SdkReport[],
  { history, sdks }: Cast,
): string[] {
  const { hooks, closed, exited, kept } = history;
  const isOpen = !closed.has(`${sdk} ${run}`) && !exited.has(`${sdk} ${run}`);
  const fate = hooks.get(messageId);
  if (isRepeated(reports, history)) return [`${messageId} was reported ${reports.length} times`];
  if (!accepted || isOpen) return [];
  // The functions of `beforeSend` may not have ended.
  if (reports.length === 0 && !kept.has(messageId) && fate !== "drops")
    return [`${messageId} was accepted by ${sdk} and never reported`];
  const isSpooling = sdks.find(({ plan }) => plan.name === sdk)?.plan.spools === true;
  return kept.has(messageId) && !isSpooling ? [`${messageId} was kept by ${sdk}, which has no spool`] : [];
}

/** A power cut brings back what was sent from the spool and removed. Nothing else is reported twice. */
function isRepeated(reports: readonly SdkReport[], { powerCuts }: History): boolean {
  return reports.some((report, index) => {
    const before = reports[index - 1];
    return (
      before !== undefined &&
      (before.run === report.run ||
        !powerCuts.some(({ sdk, atMs }) => sdk === report.sdk && atMs >= before.atMs))
    );
  });
}
