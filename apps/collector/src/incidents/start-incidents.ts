import type { IncidentView } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store } from "@sluice/event-log";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { type CancelTimer, type Clock, wallTimeAt } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { Counters } from "../history/counters.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { DiskSpace } from "./disk-low.js";
import { type Incident, incidentBatch, incidentView, messageIdOf } from "./incident.js";
import { failingKey, failingSince, type Observed, observe } from "./observe.js";
import { incidentEnding, stepIncidents } from "./step-incidents.js";

/** How often everything is checked, in milliseconds. */
export const CHECK_EVERY_MS = 30_000;
/** How long resolved incidents are kept, in milliseconds. */
const KEEP_RESOLVED_MS = 7 * 86_400_000;

export interface IncidentDeps {
  readonly store: Pick<Store, "config" | "log" | "stats">;
  readonly delivery: Pick<DeliveryRuntime, "status">;
  readonly counters: Pick<Counters, "rates">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly readDisk: () => Promise<DiskSpace>;
}

export interface Incidents {
  /** Open ones first, then the newest. */
  list(): readonly IncidentView[];
  /** Waits at most `graceMs` for the check under way. The next start appends the messages that it had not appended by then. */
  close(graceMs: number): Promise<void>;
}

/** Checks regularly what is wrong, keeps incidents, and appends messages about them to the log. */
export async function startIncidents(deps: IncidentDeps): Promise<Incidents> {
  const checks = new IncidentChecks(deps);
  await checks.load();
  return checks;
}

/** The loop: observe, decide, store, append. */
class IncidentChecks implements Incidents {
  readonly #deps: IncidentDeps;
  readonly #startedMs: number;
  readonly #ask: Ask;
  #incidents = new Map<string, Incident>();
  /** A monotonic reading. */
  #heldBackSinceMs: number | undefined;
  #failingSinceMs: ReadonlyMap<string, number> = new Map();
  #cancel: CancelTimer = () => {};
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(deps: IncidentDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
    this.#ask = asker(deps.clock);
    deps.metrics.gauge(
      "sluice_incidents_open",
      "Open incidents, such as destinations that have been failing for long",
      () => [...this.#incidents.values()].filter(({ state }) => state === "open").length,
    );
  }

  async load(): Promise<void> {
    const stored = await this.#deps.store.config.list<Incident>(DOCUMENT_KINDS.incident);
    this.#incidents = new Map(stored.map(({ id, value }) => [id, value]));
    this.#schedule();
  }

  list(): readonly IncidentView[] {
    const all = [...this.#incidents].map(([id, incident]) => incidentView(id, incident));
    const rank = ({ state }: IncidentView): number => (state === "open" ? 0 : 1);
    return all.sort((a, b) => rank(a) - rank(b) || b.openedAt.localeCompare(a.openedAt));
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    if (graceMs <= 0) return;
    const grace = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(graceMs, grace.resolve);
    await Promise.race([this.#checking, grace.promise]);
    cancel();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#deps.clock.after(CHECK_EVERY_MS, () => {
      this.#checking = this.#check()
        .catch((error: unknown) => this.#deps.logger.warn("cannot check for incidents now", { error }))
        .finally(() => this.#schedule());
    });
  }

  async #check(): Promise<void> {
    const { clock } = this.#deps;
    // An incident has one message to append, so the last one comes before the next change.
    await this.#append();
    const observed = await observeAll(this.#deps, {
      ask: this.#ask,
      openedAtMs: (key) => this.#openIncident(key)?.openedAtMs,
      failingBefore: (id) => this.#openIncident(failingKey(id))?.sinceMs ?? this.#failingSinceMs.get(id),
    });
    this.#failingSinceMs = observed.failingSinceMs;
    this.#heldBackSinceMs =
      observed.heldBack === undefined ? undefined : (this.#heldBackSinceMs ?? clock.monotonic());
    const heldBackSinceMs =
      this.#heldBackSinceMs === undefined ? undefined : wallTimeAt(this.#heldBackSinceMs, clock);
    const changed = stepIncidents(
      this.#incidents,
      observe(observed, heldBackSinceMs),
      observed.nowMs,
      (incident) => incidentEnding(incident, observed, clock.monotonic() - this.#startedMs),
    );
    if (this.#isClosed) return;
    await this.#store(changed);
    await this.#append();
    await this.#forgetOld(observed.nowMs);
  }

  async #store(changed: ReadonlyMap<string, Incident>): Promise<void> {
    if (changed.size === 0) return;
    const { store, logger } = this.#deps;
    await store.config.putAll(
      [...changed].map(([id, value]) => ({ kind: DOCUMENT_KINDS.incident, id, value })),
    );
    for (const [id, incident] of changed) {
      const before = this.#incidents.get(id);
      this.#incidents.set(id, incident);
      if (before?.state === incident.state) continue;
      const { title, detail, kind, state } = incident;
      if (state === "open") logger.warn("incident opened", { kind, incident: title, detail });
      else logger.info("incident resolved", { kind, incident: title, detail });
    }
  }

  /** Appends what is not in the log yet. It asks the log, because a crash or a lost answer may come between its two steps. */
  async #append(): Promise<void> {
    const { store, clock } = this.#deps;
    for (const [id, { unsent, ...incident }] of this.#incidents) {
      if (unsent === undefined) continue;
      if (this.#isClosed) return;
      const query = { messageId: messageIdOf(id, unsent, incident), sourceId: INCIDENT_SOURCE_ID };
      const { items } = await store.log.find(query, { limit: 1 });
      if (items.length === 0) await store.log.append(incidentBatch(id, unsent, incident, clock.now()));
      await store.config.putAll([{ kind: DOCUMENT_KINDS.incident, id, value: incident }]);
      this.#incidents.set(id, incident);
    }
  }

  #openIncident(key: string): Incident | undefined {
    const incident = this.#incidents.get(key);
    return incident?.state === "open" ? incident : undefined;
  }

  async #forgetOld(nowMs: number): Promise<void> {
    for (const [id, { state, resolvedAtMs = nowMs }] of this.#incidents) {
      if (this.#isClosed) return;
      if (state === "open" || nowMs - resolvedAtMs < KEEP_RESOLVED_MS) continue;
      await this.#deps.store.config.delete(DOCUMENT_KINDS.incident, id);
      this.#incidents.delete(id);
    }
  }
}

/** What does not answer for so long, such as a thread or a network disk, is unknown. It silences no other incident. */
const ANSWER_WITHIN_MS = 10_000;

/** Undefined if the answer is unknown. */
type Ask = <T>(what: string, ask: () => Promise<T>) => Promise<T | undefined>;

/** What has not answered is not asked again until it has: a disk that hangs takes a thread of this process for each question. */
function asker(clock: Clock): Ask {
  const unanswered = new Set<string>();
  return (what, ask) => {
    if (unanswered.has(what)) return Promise.resolve(undefined);
    unanswered.add(what);
    return new Promise((resolve) => {
      const cancel = clock.after(ANSWER_WITHIN_MS, () => resolve(undefined));
      ask()
        .catch(() => undefined)
        .then((known) => {
          unanswered.delete(what);
          cancel();
          resolve(known);
        });
    });
  };
}

async function observeAll(
  { store, delivery, counters, readDisk, clock }: IncidentDeps,
  {
    ask,
    openedAtMs,
    failingBefore,
  }: Pick<Observed, "openedAtMs"> & {
    readonly ask: Ask;
    readonly failingBefore: (destinationId: string) => number | undefined;
  },
): Promise<Observed> {
  const documents = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const destinations = await Promise.all(
    documents.map(async (document) => ({
      ...document,
      status: await ask(`destination ${document.id}`, () => delivery.status(document.id)),
    })),
  );
  const nowMs = clock.now();
  return {
    nowMs,
    destinations,
    failingSinceMs: failingSince(destinations, failingBefore, nowMs),
    heldBack: store.stats().retentionHeldBack,
    disk: await ask("disk", readDisk),
    rates: { hour: counters.rates("1h"), day: counters.rates("24h") },
    openedAtMs,
  };
}
