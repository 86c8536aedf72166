import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secretBox } from "../../src/destinations/secret-box.js";
import {
  describeWebhooksSettings,
  parseWebhooksSettings,
  type WebhooksSettings,
} from "../../src/destinations/webhooks/settings/settings.js";

const secrets = secretBox(randomBytes(32));
const CA = await readFile(new URL("../sender/fixtures/ca.pem", import.meta.url), "utf8");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-ca-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const parse = (input: object, previous?: WebhooksSettings) =>
  parseWebhooksSettings({ ...(previous ? {} : { webhookUrl: "https://a.example/" }), ...input }, previous, {
    secrets,
    judgeUrl: async () => undefined,
  });

async function refusal(caFile: string): Promise<string> {
  const result = await parse({ caFile });
  expect(result).toMatchObject({ ok: false, issues: [{ path: "settings.caFile", code: "invalid_value" }] });
  return result.ok ? "" : String(result.issues[0]?.message);
}

describe("a CA file", () => {
  it("is read once, when the settings are saved, and only its certificates are stored", async () => {
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, `a comment\n${CA}-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n`);
    const saved = await parse({ caFile });
    if (!saved.ok) throw new Error(JSON.stringify(saved.issues));
    const settings = saved.settings as WebhooksSettings;
    expect(settings.caPem?.trim()).toBe(CA.trim());
    await rename(caFile, `${caFile}.away`);
    expect(await parse({ rateLimit: 5 }, settings)).toMatchObject({
      ok: true,
      settings: { caFile, caPem: settings.caPem },
    });
    expect((await parse({ caFile: null }, settings)) as object).not.toHaveProperty("settings.caPem");
    expect(describeWebhooksSettings(settings, secrets)).toMatchObject({ caFile });
    expect(JSON.stringify(describeWebhooksSettings(settings, secrets))).not.toContain("CERTIFICATE");
  });

  it("is refused without blocking if it is a pipe, is endless or is too large", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const large = join(folder, "large.pem");
    await writeFile(large, CA);
    await truncate(large, 1_048_577);
    const missing = await refusal(join(folder, "none"));
    expect(missing).toContain("1 MB");
    // One per thread of the libuv pool, which gzip needs too. Blocked reads would leave no thread free.
    for (let i = 0; i < 5; i++) expect(await refusal(pipe)).toBe(missing);
    expect((await promisify(gzip)("text")).length).toBeGreaterThan(0);
    for (const path of ["/dev/zero", folder, large, "/proc/self/environ", "", "\0"])
      expect(await refusal(path), path).toBe(missing);
  });

  it("with an invalid certificate is refused, and the error names the certificate", async () => {
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, `${CA}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`);
    expect(await refusal(caFile)).toBe("Certificate 2 in caFile cannot be parsed as X.509");
    await writeFile(caFile, "-----BEGIN CERTIFICATE-----\nand no end");
    expect(await refusal(caFile)).toContain("certificates in PEM format");
  });
});
