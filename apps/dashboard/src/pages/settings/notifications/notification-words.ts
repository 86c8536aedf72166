import type { ChannelName, IncidentKind } from "@sluice/control-api";

export const INCIDENT_WORDS: Readonly<
  Record<IncidentKind, { readonly label: string; readonly hint: string }>
> = {
  destination_failing: {
    label: "A destination is failing",
    hint: "For longer than its own setting, 15 minutes by default.",
  },
  url_disabled: { label: "A URL is disabled", hint: "It answered 410 Gone." },
  retention_held_back: {
    label: "Retention is held back",
    hint: "Old messages are kept because a destination has not read them.",
  },
  disk_low: { label: "The disk is nearly full", hint: "Under 5 %, at least 1 GB and at most 20 GB." },
  rejections_rising: {
    label: "Many messages are rejected",
    hint: "At least 100 in 10 minutes, 5 % of all, and three times the share of the day before.",
  },
};

export const CHANNEL_WORDS: Readonly<Record<ChannelName, string>> = { webhook: "Webhook", email: "Email" };
