import type { DestinationStatusView, DestinationView, ProblemsView } from "@sluice/control-api";
import { useDestinations, useHealth, useProblems } from "../../api/queries.js";
import { bytes, count, counted } from "../../words/numbers.js";
import { healthWords, needsAttention, type Tone } from "../../words/states.js";

/** One cause of trouble, with everything that it affects. */
export interface Problem {
  readonly key: string;
  readonly tone: Tone;
  readonly title: string;
  /** What to do, or what is known of it. */
  readonly advice: string;
  readonly destinations: readonly DestinationView[];
  /** The page that says more. Absent: the pages of the destinations do. */
  readonly more?: "warnings" | "settings";
  readonly since?: string;
  /** When it last happened, of what happens again and again. */
  readonly lastAt?: string;
}

/** Everything that is wrong now, one entry a cause: messages that are not taken first, then those that do not arrive. */
export function problemsOf(
  problems: ProblemsView | undefined,
  destinations: readonly DestinationView[],
  statuses: readonly DestinationStatusView[],
): readonly Problem[] {
  const all = [
    ...(problems === undefined
      ? []
      : [...storageProblems(problems), ...refusals(problems), ...otherIncidents(problems)]),
    ...destinationProblems(destinations, statuses),
  ];
  return all.toSorted((a, b) => Number(a.tone !== "bad") - Number(b.tone !== "bad"));
}

function storageProblems({ storage, disk, incidents }: ProblemsView): Problem[] {
  const found: Problem[] = [];
  if (storage.kind === "unavailable")
    found.push({
      key: "storage",
      tone: "bad",
      title: "The collector cannot write to its disk",
      advice: `Senders get 503 and retry: ${storage.reason}`,
      destinations: [],
      since: storage.since,
    });
  if (disk?.isLow) {
    const since = incidents.find(({ kind }) => kind === "disk_low")?.since;
    found.push({
      key: "disk",
      tone: "wait",
      title: "The disk is nearly full",
      advice: `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} are free. Free space, or keep messages for a shorter time.`,
      destinations: [],
      more: "settings",
      ...(since === undefined ? {} : { since }),
    });
  }
  return found;
}

/** Requests to send messages that were refused whole, by the code that the clients got. */
function refusals({ refusedRequests, wrongKeys }: ProblemsView): Problem[] {
  return refusedRequests
    .filter(({ requests }) => requests > 0)
    .map(({ code, status, requests, lastAt }) => {
      const [most] =
        code === "invalid_write_key" ? wrongKeys.toSorted((a, b) => b.requests - a.requests) : [];
      return {
        key: code,
        tone: status >= 500 ? "bad" : "wait",
        title: `${counted(requests, "request")} refused: ${status} ${code}`,
        advice:
          most === undefined
            ? "In the last hour. Their messages are not stored."
            : `In the last hour. Most of them, ${count(most.requests)}, ${most.keyPrefix === undefined ? "had no key" : `had a key that begins with ${most.keyPrefix}`}, from ${most.address}${most.client === undefined ? "" : `, ${most.client}`}.`,
        destinations: [],
        more: "warnings",
        ...(lastAt === undefined ? {} : { lastAt }),
      };
    });
}

/** What the destinations' statuses and the disk do not say. */
function otherIncidents({ incidents }: ProblemsView): Problem[] {
  return incidents
    .filter(({ kind }) => kind === "retention_held_back" || kind === "rejections_rising")
    .map(({ id, kind, title, detail, since }) => ({
      key: id,
      tone: "wait",
      title,
      advice: detail,
      destinations: [],
      ...(kind === "rejections_rising" ? { more: "warnings" as const } : {}),
      since,
    }));
}

const ENABLE =
  "When the receiver works again, enable the URL on the destination's page, then retry what failed.";

/** Destinations that fail for the same reason are one problem. It began when the first of them failed. */
function destinationProblems(
  destinations: readonly DestinationView[],
  statuses: readonly DestinationStatusView[],
): Problem[] {
  const found = new Map<string, Problem>();
  for (const status of statuses) {
    const destination = destinations.find(({ id }) => id === status.destinationId);
    if (destination === undefined || !needsAttention(status.health)) continue;
    const { tone } = healthWords(status.health);
    const [title, told] = sentences(reasonOf(status));
    const advice = status.health === "url_disabled" || status.health === "partly_disabled" ? ENABLE : told;
    const known = found.get(title);
    const since = earlier(known?.since, status.since);
    found.set(title, {
      key: title,
      tone: known?.tone === "bad" ? "bad" : tone,
      title,
      advice,
      destinations: [...(known?.destinations ?? []), destination],
      ...(since === undefined ? {} : { since }),
    });
  }
  return [...found.values()].sort((a, b) => b.destinations.length - a.destinations.length);
}

/** Why: the last failure, if that is the reason. */
function reasonOf({ health, reason, lastError }: DestinationStatusView): string {
  return health === "behind" || health === "url_disabled" || health === "partly_disabled"
    ? reason
    : (lastError ?? reason);
}

/** The first sentence, and the others: what happened, and what to do. */
function sentences(text: string): readonly [first: string, others: string] {
  const end = text.indexOf(". ");
  return end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end + 2)];
}

function earlier(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

/** Everything that is wrong now, the worst first. `isPending`: until it is known what is. */
export function useCurrentProblems(): { readonly isPending: boolean; readonly found: readonly Problem[] } {
  const problems = useProblems();
  const destinations = useDestinations();
  const health = useHealth();
  return {
    isPending: problems.isPending,
    found: problemsOf(problems.data, destinations.data ?? [], health.data?.destinations ?? []),
  };
}
