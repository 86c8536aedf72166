import type { DestinationHealthView, DestinationStatusView } from "@sluice/protocol";
import type { Tone } from "./states.js";

interface HealthWords {
  readonly label: string;
  readonly tone: Tone;
}

export const HEALTH: Readonly<Record<DestinationHealthView, HealthWords>> = {
  good: { label: "Delivering", tone: "good" },
  idle: { label: "Nothing tried yet", tone: "quiet" },
  failing: { label: "Failing", tone: "bad" },
  url_disabled: { label: "URL disabled", tone: "bad" },
  backing_off: { label: "Backing off", tone: "bad" },
  disabled: { label: "Disabled", tone: "quiet" },
};

/** A collector of an earlier version tells what its queue does, not whether anything arrives. */
export function healthOf({ health, state }: DestinationStatusView): DestinationHealthView {
  return health ?? (state === "delivering" ? "good" : state);
}

/** What to mend, by the bare reason that a restart leaves; the first that fits. */
const REMEDIES: readonly (readonly [error: RegExp, remedy: string])[] = [
  [/^HTTP 40[13]$/, "Compare headers and shared secret with the receiver's."],
  [/^HTTP 3\d\d$/, "Redirects are not followed: set the URL to which it leads."],
  [/^HTTP 40[45]$/, "Check the URL."],
  [/^HTTP 413$/, "Raise the receiver's body limit."],
  [
    /^certificate_invalid/,
    "Its certificate is not trusted: renew it, or name its authority's file in the settings.",
  ],
  [/^address_not_allowed/, "Set another URL, or allow the address where the collector is started."],
];

/** What somebody can do about it; undefined where the error says so itself, as it does until the next restart. */
export function remedyOf(lastError: string | undefined): string | undefined {
  return REMEDIES.find(([error]) => error.test(lastError ?? ""))?.[1];
}
