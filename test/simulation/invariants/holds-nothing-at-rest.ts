import type { Invariant } from "./invariant.js";

/** Timers of an idle collector: of its stages, its store and its audiences. */
const IDLE_TIMERS = 24;
/** Of a process of a cluster besides: its lease, its heartbeats, and its looks at the log. */
const CLUSTER_TIMERS = 6;
/** Those of a destination at rest: the probe of one that is down. */
const DESTINATION_TIMERS = 2;

/** What is left in memory when everything has ended. */
export const holdsNothingAtRest: Invariant = {
  name: "holds-nothing-at-rest",
  promise:
    "When nothing is under way, the retry queue in memory counts exactly the retries in the store, no message counts as unread or in its first attempt, and the collector has the timers of an idle one.",
  check({ cast, atRest: { metrics, timers, backlogs } }) {
    const wrong: string[] = [];
    for (const { id, plan } of cast.destinations) {
      const stored = backlogs.get(id) ?? { behind: 0, retries: 0 };
      const shown = (name: string): number => metrics.get(`${name}{destination="${id}"}`) ?? 0;
      const retries = shown("sluice_destination_retries_waiting");
      if (retries !== stored.retries)
        wrong.push(`${plan.name} counts ${retries} retries; the store holds ${stored.retries}`);
      const backlog = shown("sluice_destination_backlog_messages");
      if (backlog > 0) wrong.push(`${plan.name} counts a backlog of ${backlog}, and everything has ended`);
    }
    const most =
      IDLE_TIMERS +
      DESTINATION_TIMERS * (cast.destinations.length + (cast.warehouse === undefined ? 0 : 1)) +
      (cast.cluster === undefined ? 0 : CLUSTER_TIMERS);
    if (timers > most) wrong.push(`the collector has ${timers} timers; an idle one has at most ${most}`);
    return wrong;
  },
};
