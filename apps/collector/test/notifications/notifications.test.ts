import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IncidentView, NotificationTestView, NotificationView } from "@sluice/control-api";
import { openMemoryStore, type Store } from "@sluice/event-log";
import { sign } from "@sluice/webhooks";
import { describe, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore the mail server of the package that sends email
import { smtpServer } from "../../../../packages/destination-email/test/smtp-server.js";
import {
  manualClock,
  startTestCollector,
  type TestCollector,
  type TestCollectorOptions,
} from "../../src/testing.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOOK = "https://hooks.example/orders";
const ALERTS = "https://alerts.example/sluice";
const SECRET = "notification secret";
const GB = 1_024 ** 3;

async function collectorWith(options: TestCollectorOptions = {}): Promise<TestCollector> {
  const collector = await startTestCollector({
    readDisk: async () => ({ freeBytes: 50 * GB, totalBytes: 100 * GB }),
    ...options,
  });
  onTestFinished(() => collector.close());
  return collector;
}

async function withWebhook(options?: TestCollectorOptions): Promise<TestCollector> {
  const collector = await collectorWith(options);
  await collector.api("PATCH", "/notifications/settings", {
    webhook: { url: ALERTS, sharedSecret: SECRET },
  });
  return collector;
}

let sent = 0;
const track = (collector: TestCollector) =>
  collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: `m${sent++}` });

/** The notifications that the webhook got: event, title. */
const told = ({ webhooks }: TestCollector) =>
  webhooks.requests
    .filter(({ url }) => url === ALERTS)
    .map(({ body }) => {
      const { event, title } = JSON.parse(body);
      return `${event}: ${title}`;
    });
const incidents = async (collector: TestCollector) =>
  ((await collector.api("GET", "/notifications/incidents")) as { items: IncidentView[] }).items;
const notifications = async (collector: TestCollector) =>
  ((await collector.api("GET", "/notifications")) as { items: NotificationView[] }).items;

describe("a destination that fails", () => {
  it("is told once after its time, and once when it has recovered", async () => {
    const collector = await withWebhook();
    await collector.connect({ webhooks: [{ url: HOOK }] });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(14 * MINUTE);
    expect(told(collector)).toEqual([]);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["opened: Webhooks is failing"]);
    await collector.advance(HOUR);
    expect(told(collector)).toHaveLength(1);
    expect(await incidents(collector)).toMatchObject([{ state: "open", kind: "destination_failing" }]);

    collector.webhooks.script(HOOK, 200);
    await collector.advance(20 * MINUTE);
    expect(told(collector)).toEqual([
      "opened: Webhooks is failing",
      "resolved: Resolved: Webhooks is failing",
    ]);
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "Deliveries succeed again." },
    ]);
  });

  it("follows the time of the destination", async () => {
    const collector = await withWebhook();
    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    expect(await collector.api("GET", `/destinations/${id}`)).toMatchObject({ notifyAfterMs: 15 * MINUTE });
    await collector.api("PATCH", `/destinations/${id}`, { notifyAfterMs: MINUTE });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["opened: Webhooks is failing"]);
  });

  it("follows the time that it was created with", async () => {
    const collector = await collectorWith();
    const destination = (notifyAfterMs: number) =>
      collector.api("POST", "/destinations", {
        name: "Orders",
        type: "webhooks",
        settings: { webhooks: [{ url: HOOK }] },
        notifyAfterMs,
      });
    expect(await destination(2 * MINUTE)).toMatchObject({ notifyAfterMs: 2 * MINUTE });
    await expect(destination(1)).rejects.toThrow(/notifyAfterMs/);
  });

  it("says that it was disabled or deleted instead of recovered", async () => {
    const collector = await withWebhook();
    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(16 * MINUTE);
    await collector.api("PATCH", `/destinations/${id}`, { enabled: false });
    await collector.advance(MINUTE);
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "The destination was disabled." },
    ]);
  });

  it("is neither told again nor forgotten after a restart", async () => {
    const clock = manualClock();
    const store = openMemoryStore({ clock });
    const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-notify-"));
    onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
    const first = await withWebhook({ clock, store, dataDirectory });
    await first.connect({ webhooks: [{ url: HOOK }] });
    first.webhooks.script(HOOK, 503);
    await track(first);
    await first.advance(16 * MINUTE);
    expect(told(first)).toHaveLength(1);
    await first.close();

    const second = await collectorWith({ clock, store, dataDirectory });
    second.webhooks.script(HOOK, 503);
    await second.advance(30 * MINUTE);
    expect(told(second)).toEqual([]);
    expect(await incidents(second)).toMatchObject([{ state: "open" }]);
    await second.close();

    const third = await collectorWith({ clock, store, dataDirectory });
    await third.advance(30 * MINUTE);
    expect(told(third)).toEqual(["resolved: Resolved: Webhooks is failing"]);
  });
});

describe("the other kinds", () => {
  it("tells at once that a URL was disabled", async () => {
    const collector = await withWebhook();
    await collector.connect({ webhooks: [{ url: `${HOOK}?token=secret` }] });
    collector.webhooks.script(`${HOOK}?token=secret`, 410);
    await track(collector);
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual(["opened: A URL of Webhooks is disabled"]);
    expect(JSON.stringify([await notifications(collector), await incidents(collector)])).not.toContain(
      "token=secret",
    );
    expect(collector.webhooks.requests.find(({ url }) => url === ALERTS)?.body).not.toContain("token=secret");
  });

  it("tells that retention is held back, and that the limits hold again", async () => {
    const clock = manualClock();
    const memory = openMemoryStore({ clock });
    let heldBack: ReturnType<Store["stats"]>["retentionHeldBack"];
    const stats = (): ReturnType<Store["stats"]> => ({
      ...memory.stats(),
      ...(heldBack === undefined ? {} : { retentionHeldBack: heldBack }),
    });
    const collector = await withWebhook({ clock, store: { ...memory, stats } });
    const consumerId = await collector.connect({ webhooks: [{ url: HOOK }] });
    heldBack = { consumerId, bytes: 3 * 1_024 ** 2 };
    await collector.advance(4 * MINUTE);
    expect(told(collector)).toEqual([]);
    await collector.advance(3 * MINUTE);
    expect(told(collector)).toEqual(["opened: Webhooks holds back retention"]);
    expect(await incidents(collector)).toMatchObject([
      { kind: "retention_held_back", destinationId: consumerId, detail: expect.stringContaining("3.0 MB") },
    ]);
    heldBack = undefined;
    await collector.advance(10 * MINUTE);
    expect(told(collector)).toHaveLength(2);
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "The retention limits hold again." },
    ]);
  });

  it("tells that the disk is nearly full, and that it no longer is", async () => {
    let freeBytes = 50 * GB;
    const collector = await withWebhook({ readDisk: async () => ({ freeBytes, totalBytes: 100 * GB }) });
    freeBytes = GB;
    await collector.advance(MINUTE);
    freeBytes = 6 * GB;
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual(["opened: The disk is nearly full"]);
    freeBytes = 50 * GB;
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual([
      "opened: The disk is nearly full",
      "resolved: Resolved: The disk is nearly full",
    ]);
  });

  it("tells that many messages are rejected", async () => {
    const collector = await withWebhook();
    const bad = Array.from({ length: 150 }, () => ({ type: "track", userId: "u1" }));
    await collector.send(...bad);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["opened: Many messages are rejected"]);
    await collector.advance(12 * MINUTE);
    expect(told(collector)).toHaveLength(2);
  });

  it("tells only of the kinds that were chosen", async () => {
    let freeBytes = GB;
    const collector = await withWebhook({ readDisk: async () => ({ freeBytes, totalBytes: 100 * GB }) });
    await collector.api("PATCH", "/notifications/settings", { kinds: ["url_disabled"] });
    await collector.advance(2 * MINUTE);
    freeBytes = 50 * GB;
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual([]);
    expect(await incidents(collector)).toMatchObject([{ kind: "disk_low", state: "resolved" }]);
  });
});

describe("the webhook", () => {
  it("is signed as other webhooks are, and has the same id on every attempt", async () => {
    const collector = await withWebhook({ readDisk: async () => ({ freeBytes: GB, totalBytes: 100 * GB }) });
    let answers = 0;
    collector.webhooks.script(ALERTS, () => (answers++ < 2 ? 503 : 200));
    await collector.advance(10 * MINUTE);
    const requests = collector.webhooks.requests.filter(({ url }) => url === ALERTS);
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    const [first] = requests;
    expect(first?.headers["x-signature"]).toBe(sign(Buffer.from(first?.body ?? ""), SECRET));
    expect(first?.headers["webhook-signature"]).toMatch(/^v1,/);
    expect(JSON.parse(first?.body ?? "")).toMatchObject({
      type: "notification",
      event: "opened",
      kind: "disk_low",
      title: "The disk is nearly full",
      incidentId: "disk_low",
    });
    expect(await notifications(collector)).toMatchObject([
      { channels: [{ channel: "webhook", state: "sent", attempts: 3 }] },
    ]);
  });

  it("that fails is retried, visibly", async () => {
    const collector = await withWebhook({ readDisk: async () => ({ freeBytes: GB, totalBytes: 100 * GB }) });
    collector.webhooks.script(ALERTS, 500);
    await collector.advance(2 * MINUTE);
    expect(await notifications(collector)).toMatchObject([
      { channels: [{ state: "pending", attempts: 3, lastError: expect.stringContaining("500") }] },
    ]);
  });

  it("cannot be a private address", async () => {
    const collector = await startTestCollector({ allowTargets: [] });
    onTestFinished(() => collector.close());
    const refused = collector.api("PATCH", "/notifications/settings", { webhook: { url: "ftp://x" } });
    await expect(refused).rejects.toThrow(/webhook\.url.*http.*webhook\.sharedSecret/s);
  });
});

describe("email", () => {
  const EMAIL = { host: "127.0.0.1", from: "sluice@example.com", to: ["ops@example.com"] };
  const LOOPBACK = { allowTargets: ["127.0.0.0/8"] };
  const test = async (collector: TestCollector, email: object) => {
    await collector.api("PATCH", "/notifications/settings", { email: { ...EMAIL, ...email } });
    const { items } = (await collector.api("POST", "/notifications/test", {
      channel: "email",
    })) as NotificationTestView;
    return items[0];
  };

  it("arrives as plain text, without headers that a destination's name tries to add", async () => {
    const smtp = await smtpServer();
    onTestFinished(() => smtp[Symbol.asyncDispose]());
    const collector = await collectorWith(LOOPBACK);
    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    await collector.api("PATCH", `/destinations/${id}`, {
      name: "Evil\r\nBcc: victim@example.com\r\n\r\nHello",
      notifyAfterMs: MINUTE,
    });
    await collector.api("PATCH", "/notifications/settings", {
      email: { ...EMAIL, port: smtp.port, security: "none" },
    });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    const arrived = smtp.next();
    await collector.advance(3 * MINUTE);
    const { data, to } = await arrived;
    const [header = "", body = ""] = data.split("\r\n\r\n");
    expect(to).toEqual(["<ops@example.com>"]);
    expect(header).not.toMatch(/^bcc:/im);
    expect(header.replace(/\r\n /g, " ")).toMatch(
      /^Subject: \[Sluice\] Evil Bcc: victim@example\.com Hello is failing$/m,
    );
    expect(header).toMatch(/^Content-Type: text\/plain/m);
    expect(body).toContain("is failing");
  });

  it("logs in over STARTTLS and TLS only with a trusted certificate, and says so", async () => {
    for (const security of ["starttls", "tls"] as const) {
      const smtp = await smtpServer({ security });
      onTestFinished(() => smtp[Symbol.asyncDispose]());
      const collector = await collectorWith(LOOPBACK);
      const result = await test(collector, { port: smtp.port, security });
      expect(result).toMatchObject({ state: "failed", detail: expect.stringContaining("certificate") });
      expect(smtp.mails).toEqual([]);
    }
  });

  it.each([
    ["no STARTTLS", {}, { security: "starttls" }, /does not offer an encrypted connection/],
    [
      "an unknown recipient",
      { recipientAnswer: "550 5.1.1 unknown user" },
      {},
      /refused the sender or a recipient: .*550 5\.1\.1 unknown user/,
    ],
  ])("says what is wrong: %s", async (_name, server, email, expected) => {
    const smtp = await smtpServer(server);
    onTestFinished(() => smtp[Symbol.asyncDispose]());
    const collector = await collectorWith(LOOPBACK);
    const result = await test(collector, { port: smtp.port, security: "none", ...email });
    expect(result).toMatchObject({ state: "failed", detail: expect.stringMatching(expected) });
  });

  it("says that nothing listens, and what address is not allowed", async () => {
    const smtp = await smtpServer();
    await smtp[Symbol.asyncDispose]();
    const allowed = await collectorWith(LOOPBACK);
    expect(await test(allowed, { port: smtp.port, security: "none" })).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("ECONNREFUSED"),
    });
    const refused = await collectorWith({ allowTargets: [] });
    expect(await test(refused, { port: smtp.port, security: "none" })).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("loopback"),
    });
  });

  it.each([
    [{ from: "a@b.c\r\nBcc: x@y.z" }, "email.from"],
    [{ to: ["ops@example.com", "a@b.c, d@e.f"] }, "email.to[1]"],
    [{ host: "mail.example/x" }, "email.host"],
    [{ user: "u" }, "email.password"],
    [{ user: "u", password: "p", security: "none" }, "email.security"],
  ])("refuses %o", async (change, path) => {
    const collector = await collectorWith();
    const refused = collector.api("PATCH", "/notifications/settings", { email: { ...EMAIL, ...change } });
    await expect(refused).rejects.toThrow(`"path":"${path}"`);
  });

  it("never shows the password, and does not send it to another server", async () => {
    const collector = await collectorWith();
    const settings = (email: object) => collector.api("PATCH", "/notifications/settings", { email });
    const shown = await settings({ ...EMAIL, user: "u", password: "hunter2hunter2" });
    expect(shown).toMatchObject({ email: { user: "u", passwordSet: true } });
    expect(JSON.stringify(shown)).not.toContain("hunter2");
    expect(JSON.stringify(await collector.store.config.list("notification_settings"))).not.toContain(
      "hunter2",
    );
    await expect(settings({ host: "evil.example" })).rejects.toThrow("Enter the password again");
    expect(await settings({ to: ["other@example.com"] })).toMatchObject({ email: { passwordSet: true } });
    expect(JSON.stringify(await collector.api("GET", "/audit"))).not.toContain("hunter2");
  });
});
