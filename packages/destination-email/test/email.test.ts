import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { startTestCollector, type TestCollector } from "@sluice/collector/testing";
import { contractOf } from "@sluice/destination/contract";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import email from "../src/index.js";
import { type SmtpServer, type SmtpServerOptions, smtpServer } from "./smtp-server.js";

const before = getCACertificates("default");
const ca = readFileSync(
  join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures/ca.pem"),
  "utf8",
);
const trustTestCa = (): void => setDefaultCACertificates([...before, ca]);
beforeAll(trustTestCa);
afterAll(() => setDefaultCACertificates(before));

const EMAIL = { host: "127.0.0.1", from: "sluice@example.com", to: ["ops@example.com", "dev@example.com"] };
const LOGIN = { user: "sluice", password: "correct horse" };

describe("the contract", () => {
  const world: { smtp?: SmtpServer } = {};
  beforeAll(async () => {
    world.smtp = await smtpServer();
  });
  afterAll(() => world.smtp?.[Symbol.asyncDispose]());
  const checks = contractOf({
    destination: email,
    settings: async () => ({ ...EMAIL, port: world.smtp?.port, security: "none" }),
    unreachable: async () => ({ ...EMAIL, port: await closedPort(), security: "none" }),
    arrived: async () =>
      world.smtp?.mails.map(({ data }) => /^Message-ID: <(.*)@/m.exec(data)?.[1] ?? "") ?? [],
  });
  it.each(checks)("$name", ({ run }) => run());
});

async function collectorWith(allowTargets: readonly string[] = ["127.0.0.0/8"]): Promise<TestCollector> {
  const collector = await startTestCollector({ destinations: [email], allowTargets });
  onTestFinished(() => collector.close());
  return collector;
}

async function server(options?: SmtpServerOptions): Promise<SmtpServer> {
  const smtp = await smtpServer(options);
  onTestFinished(() => smtp[Symbol.asyncDispose]());
  return smtp;
}

const create = async ({ api, sourceId }: TestCollector, settings: object) =>
  (await api("POST", "/destinations", {
    type: "email",
    sourceIds: [sourceId],
    settings: { ...EMAIL, ...settings },
  })) as { id: string; settings: object };

async function test(collector: TestCollector, settings: object): Promise<unknown> {
  const { id } = await create(collector, settings);
  return collector.api("POST", `/destinations/${id}/test`, {});
}

it("sends a message as plain text, without headers that its texts try to add", async () => {
  const smtp = await server();
  const collector = await collectorWith();
  await create(collector, { port: smtp.port, security: "none" });
  const arrived = smtp.next();
  const title = "Größe\r\nBcc: victim@example.com\r\n\r\nHello";
  await collector.send({
    type: "track",
    event: "Alert",
    userId: "u1",
    messageId: "m 1\r\nX: y",
    properties: { title, text: "All is well.\n" },
  });
  const { data, to } = await arrived;
  const [header = "", body = ""] = data.split("\r\n\r\n");
  expect(to).toEqual(["<ops@example.com>", "<dev@example.com>"]);
  expect(header).not.toMatch(/^(bcc|x):/im);
  expect(header).toMatch(/^Subject: =\?UTF-8\?/m);
  expect(header).toMatch(/^Message-ID:\s+<[0-9a-f]{64}@sluice\.invalid>$/m);
  expect(header).toMatch(/^Content-Type: text\/plain/m);
  expect(body).toContain("All is well.");
});

it("sends what the collector says of an incident", async () => {
  const smtp = await server();
  const collector = await startTestCollector({
    destinations: [email],
    allowTargets: ["127.0.0.0/8"],
    readDisk: async () => ({ freeBytes: 1, totalBytes: 1_000_000 }),
  });
  onTestFinished(() => collector.close());
  const settings = { ...EMAIL, port: smtp.port, security: "none" };
  await collector.api("POST", "/destinations", { type: "email", sourceIds: ["sluice"], settings });
  const arrived = smtp.next();
  await collector.advance(30_000);
  const { data } = await arrived;
  expect(data).toMatch(/^Subject: \[Sluice\] The disk is nearly full\r$/m);
  expect(data.split("\r\n\r\n").slice(1).join("\n")).toMatch(/^The disk is nearly full\n.*Since: /s);
});

it.each(["tls", "starttls"] as const)("logs in over %s", async (security) => {
  const smtp = await server({ security, login: LOGIN });
  const collector = await collectorWith();
  expect(await test(collector, { port: smtp.port, security, ...LOGIN })).toMatchObject({
    state: "delivered",
  });
  expect(smtp.mails).toMatchObject([{ user: "sluice", isEncrypted: true }]);
});

it.each(["tls", "starttls"] as const)(
  "sends nothing over %s to a server that it cannot trust",
  async (security) => {
    setDefaultCACertificates(before);
    onTestFinished(trustTestCa);
    const smtp = await server({ security });
    const collector = await collectorWith();
    const result = await test(collector, { port: smtp.port, security });
    expect(JSON.stringify(result)).toContain("certificate");
    expect(smtp.mails).toEqual([]);
  },
);

it.each<[string, SmtpServerOptions, object, string, RegExp]>([
  ["no STARTTLS", {}, { security: "starttls" }, "pending", /does not offer an encrypted connection/],
  [
    "an unknown recipient",
    { recipientAnswer: "550 5.1.1 unknown user" },
    { security: "none" },
    "failed",
    /refused the sender or a recipient: .*550 5\.1\.1 unknown user/,
  ],
  [
    "a greylisted recipient",
    { recipientAnswer: "450 4.2.0 try again" },
    { security: "none" },
    "pending",
    /450 4\.2\.0 try again/,
  ],
  [
    "a wrong password",
    { security: "tls", login: LOGIN },
    { security: "tls", user: "sluice", password: "another passphrase" },
    "pending",
    /refused the user name or password: .*535 5\.7\.8/,
  ],
])("says what is wrong: %s", async (_name, options, settings, state, expected) => {
  const smtp = await server(options);
  const result = await test(await collectorWith(), { port: smtp.port, ...settings });
  expect(result).toMatchObject({ state });
  expect(JSON.stringify(result)).toMatch(expected);
  expect(JSON.stringify(result)).not.toContain("another passphrase");
});

it("connects only where the collector allows", async () => {
  const smtp = await server();
  const result = await test(await collectorWith([]), { port: smtp.port, security: "none" });
  expect(JSON.stringify(result)).toContain("loopback");
  expect(smtp.mails).toEqual([]);
});

it.each<[object, string]>([
  [{ from: "a@b.c\r\nBcc: x@y.z" }, "settings.from"],
  [{ to: ["ops@example.com", "a@b.c, d@e.f"] }, "settings.to"],
  [{ to: [] }, "settings.to"],
  [{ host: "mail.example/x" }, "settings.host"],
  [{ host: undefined }, "settings.host"],
  [{ user: "u" }, "settings.password"],
  [{ user: "u", password: "p", security: "none" }, "settings.security"],
])("refuses %j", async (change, path) => {
  await expect(create(await collectorWith(), change)).rejects.toThrow(`"path":"${path}"`);
});

it("never shows the password, and does not send it to another server", async () => {
  const collector = await collectorWith();
  const shown = await create(collector, { user: "u", password: "hunter2hunter2" });
  expect(shown.settings).toMatchObject({ user: "u", passwordSet: true });
  expect(JSON.stringify(await collector.store.config.list("destination"))).not.toContain("hunter2");
  const change = (settings: object) => collector.api("PATCH", `/destinations/${shown.id}`, { settings });
  await expect(change({ host: "evil.example" })).rejects.toThrow("Enter password again");
  expect(await change({ to: ["other@example.com"] })).toMatchObject({ settings: { passwordSet: true } });
  expect(JSON.stringify(await collector.api("GET", "/audit"))).not.toContain("hunter2");
});

function closedPort(): Promise<number> {
  return new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address() as { port: number };
      free.close(() => resolve(port));
    });
  });
}
