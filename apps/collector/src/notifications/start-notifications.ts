import { statfs } from "node:fs/promises";
import type {
  ChannelName,
  IncidentView,
  NotificationSettingsPatch,
  NotificationSettingsView,
  NotificationTestView,
  NotificationView,
} from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store, type Versioned } from "@sluice/event-log";
import { type CancelTimer, wallTimeAt } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { DestinationDocument } from "../documents/documents.js";
import { newId } from "../documents/new-id.js";
import type { Counters } from "../history/counters.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { Channel } from "./channels/channel.js";
import { emailChannel } from "./channels/email-channel.js";
import { type ChannelDeps, webhookChannel } from "./channels/webhook-channel.js";
import type { DiskSpace } from "./incidents/disk-low.js";
import type { Incident, Notice } from "./incidents/incident.js";
import { incidentEnding } from "./incidents/incident-ending.js";
import { failingKey, failingSince, type Observed, observe } from "./incidents/observe.js";
import { stepIncidents } from "./incidents/step-incidents.js";
import { noticeText } from "./notice-text.js";
import { incidentView, notificationView } from "./notification-views.js";
import type { Notification } from "./outbox/notification.js";
import { type OutboxDeps, sendDue, sendTest } from "./outbox/outbox.js";
import { changeSettings, type SettingsChange } from "./settings/change-settings.js";
import {
  NO_SETTINGS,
  type NotificationSettings,
  SETTINGS_ID,
  settingsView,
} from "./settings/notification-settings.js";

/** How often everything is checked, in milliseconds. */
export const CHECK_EVERY_MS = 30_000;
/** How long resolved incidents are kept, in milliseconds. */
const KEEP_RESOLVED_MS = 7 * 86_400_000;

export interface NotificationDeps extends ChannelDeps {
  readonly store: Store;
  readonly delivery: Pick<DeliveryRuntime, "status">;
  readonly counters: Pick<Counters, "rates">;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly readDisk: () => Promise<DiskSpace>;
}

export interface Notifications {
  settings(): Promise<NotificationSettingsView>;
  /** `expected`: change only if this is the current version. */
  configure(
    patch: NotificationSettingsPatch,
    expected: number | undefined,
  ): Promise<
    Exclude<SettingsChange, { ok: true }> | { readonly ok: true; readonly view: NotificationSettingsView }
  >;
  test(channel: ChannelName | undefined): Promise<NotificationTestView>;
  /** Newest first. */
  list(): Promise<readonly NotificationView[]>;
  /** Open ones first, then the newest. */
  incidents(): Promise<readonly IncidentView[]>;
  /** Waits at most `graceMs` for the check under way. What it has sent but not stored by then is sent again after a restart. */
  close(graceMs: number): Promise<void>;
}

/** Checks regularly what is wrong, keeps incidents, and sends notifications about them. */
export async function startNotifications(deps: NotificationDeps): Promise<Notifications> {
  const checks = new IncidentChecks(deps);
  await checks.load();
  const { config } = deps.store;
  return {
    async settings() {
      const { value, version } = await readSettings(deps.store);
      return settingsView(value, version);
    },
    async configure(patch, expected) {
      const { value, version } = await readSettings(deps.store);
      const changed = changeSettings(value, patch, deps.secrets);
      if (!changed.ok) return changed;
      const stored = await config.put(
        DOCUMENT_KINDS.notificationSettings,
        SETTINGS_ID,
        changed.settings,
        expected ?? version,
      );
      return { ok: true, view: settingsView(stored.value, stored.version) };
    },
    async test(channel) {
      const { value } = await readSettings(deps.store);
      const channels = [...channelsOf(value, deps).values()];
      const items = await sendTest(
        channels.filter(({ name }) => channel === undefined || name === channel),
        {
          id: newId("ntf"),
          atMs: deps.clock.now(),
          attempt: 1,
          event: "test",
          title: "Test notification",
          text: "This is a test. Notifications of this collector arrive here.\n",
        },
      );
      return { items: items.map(({ kind, ...rest }) => ({ state: kind, ...rest })) };
    },
    async list() {
      const all = await config.list<Notification>(DOCUMENT_KINDS.notification);
      return all.map(notificationView).reverse();
    },
    async incidents() {
      const all = [...checks.incidents].map(([id, incident]) => incidentView(id, incident));
      const open = (view: IncidentView): number => (view.state === "open" ? 0 : 1);
      return all.sort((a, b) => open(a) - open(b) || b.openedAt.localeCompare(a.openedAt));
    },
    close: (graceMs) => checks.close(graceMs),
  };
}

/** The loop: observe, decide, store, send. */
class IncidentChecks {
  readonly #deps: NotificationDeps;
  readonly #startedMs: number;
  readonly #outbox: OutboxDeps;
  #incidents = new Map<string, Incident>();
  #settings: NotificationSettings = NO_SETTINGS;
  /** A monotonic reading. */
  #heldBackSinceMs: number | undefined;
  #failingSinceMs: ReadonlyMap<string, number> = new Map();
  #cancel: CancelTimer = () => {};
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(deps: NotificationDeps) {
    const { clock, metrics, logger } = deps;
    this.#deps = deps;
    this.#startedMs = clock.monotonic();
    const attempts = metrics.counter(
      "sluice_notifications_total",
      "Attempts to send a notification, by result",
      ["channel", "result"],
    );
    for (const channel of ["webhook", "email"])
      for (const result of ["sent", "failed"]) attempts.inc([channel, result], 0);
    this.#outbox = {
      config: deps.store.config,
      clock,
      channels: () => channelsOf(this.#settings, deps),
      attempts,
      onFailed: ({ title }, channel, error) =>
        logger.warn("a notification could not be sent", { channel, notification: title, error }),
    };
    metrics.gauge(
      "sluice_incidents_open",
      "Open incidents, such as destinations that have been failing for long",
      () => [...this.#incidents.values()].filter(({ state }) => state === "open").length,
    );
  }

  get incidents(): ReadonlyMap<string, Incident> {
    return this.#incidents;
  }

  async load(): Promise<void> {
    const stored = await this.#deps.store.config.list<Incident>(DOCUMENT_KINDS.incident);
    this.#incidents = new Map(stored.map(({ id, value }) => [id, value]));
    this.#schedule();
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
    const { store, clock } = this.#deps;
    this.#settings = (await readSettings(store)).value;
    const observed = await observeAll(this.#deps, {
      openedAtMs: (key) => this.#openIncident(key)?.openedAtMs,
      failingBefore: (id) => this.#openIncident(failingKey(id))?.sinceMs ?? this.#failingSinceMs.get(id),
    });
    this.#failingSinceMs = observed.failingSinceMs;
    this.#heldBackSinceMs =
      observed.heldBack === undefined ? undefined : (this.#heldBackSinceMs ?? clock.monotonic());
    const heldBackSinceMs =
      this.#heldBackSinceMs === undefined ? undefined : wallTimeAt(this.#heldBackSinceMs, clock);
    const { kinds, minIntervalMs, webhook, email } = this.#settings;
    const hasChannel = webhook !== undefined || email !== undefined;
    const { changed, notices } = stepIncidents(
      this.#incidents,
      observe(observed, heldBackSinceMs),
      observed.nowMs,
      {
        minIntervalMs,
        notifies: (kind) => hasChannel && kinds.includes(kind),
        ending: (incident) => incidentEnding(incident, observed, clock.monotonic() - this.#startedMs),
      },
    );
    if (this.#isClosed) return;
    await this.#store(changed, notices, observed.nowMs);
    await this.#forgetOld(observed.nowMs);
    if (this.#isClosed) return;
    await sendDue(this.#outbox, () => this.#isClosed);
  }

  /** In one transaction: a notification is stored exactly if its incident says that there is one. */
  async #store(
    changed: ReadonlyMap<string, Incident>,
    notices: readonly Notice[],
    nowMs: number,
  ): Promise<void> {
    if (changed.size === 0) return;
    const { store, logger } = this.#deps;
    await store.config.putAll([
      ...[...changed].map(([id, value]) => ({ kind: DOCUMENT_KINDS.incident, id, value })),
      ...notices.map((notice) => ({
        kind: DOCUMENT_KINDS.notification,
        id: newId("ntf"),
        value: notificationOf(notice, this.#settings, nowMs),
      })),
    ]);
    for (const [id, incident] of changed) {
      const before = this.#incidents.get(id);
      this.#incidents.set(id, incident);
      if (before?.state === incident.state) continue;
      const { title: incidentTitle, detail, kind } = incident;
      if (incident.state === "open")
        logger.warn("incident opened", { kind, incident: incidentTitle, detail });
      else logger.info("incident resolved", { kind, incident: incidentTitle, detail });
    }
  }

  #openIncident(key: string): Incident | undefined {
    const incident = this.#incidents.get(key);
    return incident?.state === "open" ? incident : undefined;
  }

  async #forgetOld(nowMs: number): Promise<void> {
    for (const [id, { state, resolvedAtMs = nowMs }] of this.#incidents) {
      if (state === "open" || nowMs - resolvedAtMs < KEEP_RESOLVED_MS) continue;
      await this.#deps.store.config.delete(DOCUMENT_KINDS.incident, id);
      this.#incidents.delete(id);
    }
  }
}

async function observeAll(
  { store, delivery, counters, readDisk, clock }: NotificationDeps,
  {
    openedAtMs,
    failingBefore,
  }: Pick<Observed, "openedAtMs"> & { readonly failingBefore: (destinationId: string) => number | undefined },
): Promise<Observed> {
  const documents = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const destinations = await Promise.all(
    documents.map(async (document) => ({
      ...document,
      status: await delivery.status(document.id).catch(() => undefined),
    })),
  );
  const nowMs = clock.now();
  return {
    nowMs,
    destinations,
    failingSinceMs: failingSince(destinations, failingBefore, nowMs),
    heldBack: store.stats().retentionHeldBack,
    disk: await readDisk().catch(() => undefined),
    rates: { hour: counters.rates("1h"), day: counters.rates("24h") },
    openedAtMs,
  };
}

/** The space of the disk that a folder is on, as far as an ordinary user may use it. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

async function readSettings({ config }: Pick<Store, "config">): Promise<Versioned<NotificationSettings>> {
  const stored = await config.get<NotificationSettings>(DOCUMENT_KINDS.notificationSettings, SETTINGS_ID);
  return stored ?? { id: SETTINGS_ID, version: 0, value: NO_SETTINGS };
}

function channelsOf(
  { webhook, email }: NotificationSettings,
  deps: ChannelDeps,
): ReadonlyMap<ChannelName, Channel> {
  const channels = [
    ...(webhook === undefined ? [] : [webhookChannel(webhook, deps)]),
    ...(email === undefined ? [] : [emailChannel(email, deps)]),
  ];
  return new Map(channels.map((channel) => [channel.name, channel]));
}

function notificationOf(
  notice: Notice,
  { webhook, email }: NotificationSettings,
  nowMs: number,
): Notification {
  const { event, incidentId, incident } = notice;
  const pending = { state: "pending", attempts: 0, nextAttemptAtMs: nowMs } as const;
  return {
    atMs: nowMs,
    event,
    kind: incident.kind,
    incidentId,
    ...(incident.destinationId === undefined ? {} : { destinationId: incident.destinationId }),
    ...noticeText(notice),
    channels: {
      ...(webhook === undefined ? {} : { webhook: pending }),
      ...(email === undefined ? {} : { email: pending }),
    },
  };
}
