import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Catalog, createCatalog } from "../../src/destinations/catalog.js";
import type { DestinationType, RoundAttempt } from "../../src/destinations/destination.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";
import { closeReceivers, startReceiver } from "../delivery/receiver.js";

closeReceivers();

/** Settings of types that require some. */
const SETTINGS: Record<string, (receiverUrl: string) => object> = {
  webhooks: (url) => ({
    webhooks: [{ url, headers: { Authorization: "Bearer hunter2" } }],
    sharedSecret: "hunter2",
  }),
};

let folder: string;
const printed: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-catalog-"));
});
afterEach(() => rm(folder, { recursive: true }));

const catalog = (): Catalog =>
  createCatalog({
    clock: systemClock,
    secrets: secretBox(randomBytes(32)),
    egress: egressPolicy({ allow: ["127.0.0.0/8"] }),
    exportsFolder: folder ?? tmpdir(),
    printLine: (line) => printed.push(line),
  });

/** The contract that every destination type must fulfil. */
describe.each(catalog().types.map(({ type }) => type))("the destination type %s", (name) => {
  const typeOf = (): DestinationType => {
    const type = catalog().get(name);
    if (type === undefined) throw new Error(`no type ${name}`);
    return type;
  };
  const settingsOf = async (type: DestinationType): Promise<unknown> => {
    const { url } = await startReceiver();
    const result = await type.parseSettings(SETTINGS[name]?.(url) ?? {}, undefined);
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    return result.settings;
  };

  it("has a unique type and name, and a schema of its settings", () => {
    const { type, name: published, sources, settingsSchema } = typeOf();
    expect(type).toMatch(/^[a-z][a-z0-9-]*$/);
    expect(catalog().types.filter((other) => other.name === published || other.type === type)).toHaveLength(
      1,
    );
    expect(sources.length).toBeGreaterThan(0);
    expect(settingsSchema).toMatchObject({ type: "object", additionalProperties: false });
  });

  it.each([
    ["a list", []],
    ["a text", "x"],
    ["an unknown setting", { noSuchSetting: 1 }],
  ])("refuses %s, and names the field", async (_what, input) => {
    const result = await typeOf().parseSettings(input, undefined);
    expect(result).toMatchObject({ ok: false });
    for (const issue of result.ok ? [] : result.issues) {
      expect(issue).toEqual({
        path: expect.stringMatching(/^settings/),
        code: expect.stringMatching(/^[a-z_]+$/),
        message: expect.stringMatching(/./),
      });
    }
  });

  it("stores settings that survive JSON, and never shows secrets", async () => {
    const type = typeOf();
    const settings = await settingsOf(type);
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
    expect(JSON.stringify(settings)).not.toContain("hunter2");
    expect(JSON.stringify(type.describe(settings))).not.toMatch(/hunter2|sealed/);
    const unchanged = await type.parseSettings({}, settings);
    expect(unchanged).toEqual({ ok: true, settings });
  });

  it("delivers a message, records the attempt, and can be closed twice", async () => {
    const type = typeOf();
    const destination = await type.open(await settingsOf(type));
    const attempts: RoundAttempt[] = [];
    const outcome = await destination.deliver(
      {
        messageId: "m1",
        sourceId: "src_1",
        timestamp: "2026-01-01T00:00:00.000Z",
        offset: 1,
        receivedAtMs: 0,
        message: { type: "identify", userId: "u1", messageId: "m1", traits: { plan: "pro" } },
      },
      {
        number: 1,
        isAgain: false,
        numberAt: () => 1,
        isLast: false,
        waitingUrls: [],
        doneUrls: [],
        failedUrls: [],
        record: (attempt) => attempts.push(attempt),
        repeat: () => {},
        gone: () => {},
      },
    );
    expect(outcome).toEqual({ kind: "delivered", reason: expect.stringMatching(/./) });
    expect(attempts).toHaveLength(1);
    expect(destination.flow.concurrency).toBeGreaterThanOrEqual(1);
    await destination.close();
    await destination.close();
  });
});
