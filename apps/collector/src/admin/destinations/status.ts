import { type DestinationStatusView, formatTime } from "@sluice/protocol";
import { endpoint } from "../endpoint.js";
import { maskUrls } from "../mask-urls.js";
import { DestinationStatusSchema } from "./destination-schema.js";
import { findDestination } from "./find-destination.js";

export const destinationStatus = endpoint({
  name: "destinations.status",
  method: "GET",
  path: "/destinations/:id/status",
  summary: "How a destination does now: how far behind, how much waits, and why",
  access: "read",
  answers: { status: 200, description: "Its status", schema: DestinationStatusSchema },
  errors: ["not_found"],
  async handle({ params, token }, { store, delivery }) {
    const { id, value } = await findDestination(store.config, params.id);
    const status = await delivery.status(id);
    // A destination that was made this moment has no consumer yet.
    const { state, health, failingSinceMs, disabledTargets, behind, retries, nextProbeAtMs, lastError } =
      status ?? {
        state: value.enabled ? ("delivering" as const) : ("disabled" as const),
        health: value.enabled ? ("idle" as const) : ("disabled" as const),
        failingSinceMs: undefined,
        disabledTargets: [],
        ...(await store.consumers.backlog(id)),
        nextProbeAtMs: undefined,
        lastError: undefined,
      };
    const body: DestinationStatusView = {
      destinationId: id,
      state,
      health,
      ...(failingSinceMs === undefined ? {} : { failingSince: formatTime(failingSinceMs) }),
      ...(disabledTargets.length === 0 ? {} : { disabledUrls: disabledTargets }),
      behind,
      retries,
      waiting: retries + (state === "disabled" ? 0 : behind),
      ...(nextProbeAtMs === undefined ? {} : { nextAttemptAt: formatTime(nextProbeAtMs) }),
      ...(lastError === undefined ? {} : { lastError }),
    };
    return { status: 200, body: maskUrls(token, body) };
  },
});
