import type { History, SdkReport } from "../actors/history.js";
import type { Invariant } from "./invariant.js";

/** What an application discards, and what a deadline gives up. */
export const sdkDiscards: Invariant = {
  name: "sdk-discards",
  promise:
    "What an application discards is neither sent any more by that process nor kept. Only that is reported as discarded, and only a `close()` gives messages up because of its deadline.",
  check({ cast }) {
    const { history } = cast;
    const wrong = history.discards.flatMap(({ sdk, run, atMs, messageIds }) =>
      history.sends
        .filter(
          (sent) =>
            sent.sdk === sdk && sent.run === run && sent.atMs > atMs && messageIds.has(sent.messageId),
        )
        .map((sent) => `${sent.messageId} was sent by ${sdk} at ${sent.atMs}, and discarded at ${atMs}`),
    );
    for (const { sdk, run, atMs, messageIds } of history.discards)
      for (const messageId of messageIds) {
        const kept = history.kept.get(messageId);
        if (kept?.run === run && kept.atMs > atMs)
          wrong.push(`${messageId} was kept by ${sdk} at ${kept.atMs}, and discarded at ${atMs}`);
      }
    return [...wrong, ...history.reports.flatMap((report) => wrongCode(report, history))];
  },
};

function wrongCode(
  { sdk, run, messageId, code, atMs }: SdkReport,
  { calls, discards, waits }: History,
): string[] {
  if (code === "discarded") {
    const place = calls.findIndex((call) => call.messageId === messageId);
    const isDiscarded = discards.some((one) => one.sdk === sdk && one.calls > place && one.atMs <= atMs);
    return isDiscarded ? [] : [`${messageId} was reported as discarded by ${sdk}, and nobody discarded it`];
  }
  const isClosing = waits.some(
    (wait) => wait.sdk === sdk && wait.run === run && wait.what === "close" && wait.calledAtMs <= atMs,
  );
  return code !== "close_deadline" || isClosing
    ? []
    : [`${messageId} was given up by ${sdk} as at the deadline of close(), which nobody called`];
}
