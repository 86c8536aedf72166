import type { Invariant } from "./invariant.js";

/** Functions of the application. */
export const beforeSendDecides: Invariant = {
  name: "before-send-decides",
  promise:
    "What leaves an application is as its `beforeSend` returned it. A message that was dropped, or whose function threw or took too long, never leaves, nor one of a call that was refused.",
  check({ cast }) {
    const { sends, hooks, calls } = cast.history;
    const turnedAway = new Set(calls.flatMap(({ accepted, messageId }) => (accepted ? [] : [messageId])));
    const hasHooks = new Set(cast.sdks.flatMap(({ plan }) => (plan.hooks === "none" ? [] : [plan.name])));
    return sends.flatMap(({ sdk, messageId, isHooked }) => {
      const fate = hooks.get(messageId);
      if (turnedAway.has(messageId)) return [`${messageId} left ${sdk}, which had not accepted it`];
      if (!hasHooks.has(sdk)) return [];
      if (fate !== "keeps") return [`${messageId} left ${sdk}, whose beforeSend ${fate ?? "never saw it"}`];
      return isHooked ? [] : [`${messageId} left ${sdk} as it was before beforeSend`];
    });
  },
};
