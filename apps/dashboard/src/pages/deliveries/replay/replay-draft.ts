import type { FinalStateView, ReplayFilter } from "@sluice/control-api";

/** The form of a replay, as typed. Empty: no restriction. */
export interface ReplayDraft {
  readonly destinationId: string;
  readonly state: FinalStateView | "";
  readonly type: string;
  readonly messageId: string;
  readonly event: string;
  readonly userId: string;
  /** Local times of the browser. */
  readonly from: string;
  readonly to: string;
}

export function newReplay(destinationId: string): ReplayDraft {
  return { destinationId, state: "failed", type: "", messageId: "", event: "", userId: "", from: "", to: "" };
}

/** The filter for the API, without empty fields and with times in UTC. */
export function filterOf(draft: ReplayDraft): ReplayFilter {
  const { destinationId, state, type, messageId, event, userId, from, to } = draft;
  return {
    destinationId,
    ...(state === "" ? {} : { state }),
    ...(type === "" ? {} : { type }),
    ...(messageId.trim() === "" ? {} : { messageId: messageId.trim() }),
    ...(event.trim() === "" ? {} : { event: event.trim() }),
    ...(userId.trim() === "" ? {} : { userId: userId.trim() }),
    ...(from === "" ? {} : { from: new Date(from).toISOString() }),
    ...(to === "" ? {} : { to: new Date(to).toISOString() }),
  };
}
