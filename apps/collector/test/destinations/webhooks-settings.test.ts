import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type SecretBox, secretBox } from "../../src/destinations/secret-box.js";
import {
  describeWebhooksSettings,
  parseWebhooksSettings,
  type WebhooksSettings,
} from "../../src/destinations/webhooks/settings/settings.js";

const secrets: SecretBox = secretBox(randomBytes(32));
const judgeUrl = async (url: URL): Promise<string | undefined> =>
  url.hostname === "10.0.0.1" ? "10.0.0.1 is a private address" : undefined;

async function parsed(input: unknown, previous?: WebhooksSettings): Promise<WebhooksSettings> {
  const result = await parseWebhooksSettings(input, previous, { secrets, judgeUrl });
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.settings as WebhooksSettings;
}

async function issues(input: unknown): Promise<string[]> {
  const result = await parseWebhooksSettings(input, undefined, { secrets, judgeUrl });
  return result.ok ? [] : result.issues.map(({ path, code }) => `${path}: ${code}`);
}

const URL_A = "https://hooks.example/a";
const hook = (headers: object) => ({ webhooks: [{ url: URL_A, headers }] });

describe("invalid settings are refused with the path of the wrong field", () => {
  it.each<[name: string, input: unknown, issue: string]>([
    ["not an object", [], "settings: not_an_object"],
    ["no webhooks", {}, "settings.webhooks: required"],
    ["an empty list", { webhooks: [] }, "settings.webhooks: required"],
    [
      "six webhooks",
      { webhooks: Array.from({ length: 6 }, (_, i) => ({ url: `https://a.example/${i}` })) },
      "settings.webhooks: too_many",
    ],
    ["both forms", { webhooks: [{ url: URL_A }], webhookUrl: URL_A }, "settings.webhookUrl: conflict"],
    [
      "a webhook that is not an object",
      { webhooks: ["https://a.example"] },
      "settings.webhooks[0]: not_an_object",
    ],
    [
      "an empty batch",
      { webhookUrl: URL_A, batch: { maxMessages: 0 } },
      "settings.batch.maxMessages: invalid_value",
    ],
    ["a batch without a limit", { webhookUrl: URL_A, batch: {} }, "settings.batch.maxMessages: required"],
    [
      "a long wait",
      { webhookUrl: URL_A, batch: { maxMessages: 2, maxAgeMs: 60_001 } },
      "settings.batch.maxAgeMs: invalid_value",
    ],
    ["a batch that is no object", { webhookUrl: URL_A, batch: 5 }, "settings.batch: not_an_object"],
    [
      "an unknown part",
      { webhookUrl: URL_A, batch: { maxMessages: 2, size: 1 } },
      "settings.batch.size: unknown_setting",
    ],
    ["no URL", { webhooks: [{}] }, "settings.webhooks[0].url: required"],
    ["a URL without protocol", { webhookUrl: "hooks.example/a" }, "settings.webhookUrl: invalid_url"],
    ["an unsupported protocol", { webhookUrl: "ftp://hooks.example/a" }, "settings.webhookUrl: invalid_url"],
    ["a file URL", { webhookUrl: "file:///etc/passwd" }, "settings.webhookUrl: invalid_url"],
    ["port 0", { webhookUrl: "http://hooks.example:0/a" }, "settings.webhookUrl: invalid_url"],
    [
      "port 0 in a list",
      { webhooks: [{ url: "https://hooks.example:00/" }] },
      "settings.webhooks[0].url: invalid_url",
    ],
    ...["u:p@", ":p@", "u@", "u:@", "%20:p@"].map((user): [string, unknown, string] => [
      `credentials in a URL: ${user}`,
      { webhooks: [{ url: `https://${user}hooks.example/` }] },
      "settings.webhooks[0].url: credentials_in_url",
    ]),
    [
      "the second URL on a private address",
      { webhooks: [{ url: URL_A }, { url: "http://10.0.0.1/" }] },
      "settings.webhooks[1].url: address_not_allowed",
    ],
    [
      "a duplicate URL",
      { webhooks: [{ url: URL_A }, { url: URL_A }] },
      "settings.webhooks[1].url: duplicate",
    ],
    ["an unknown setting", { webhookUrl: URL_A, retries: 3 }, "settings.retries: unknown_setting"],
    [
      "headers that are not an object",
      { webhooks: [{ url: URL_A, headers: [] }] },
      "settings.webhooks[0].headers: not_an_object",
    ],
    ["an empty secret", { webhookUrl: URL_A, sharedSecret: "" }, "settings.sharedSecret: invalid_value"],
    [
      "three secrets",
      { webhookUrl: URL_A, sharedSecret: ["a", "b", "c"] },
      "settings.sharedSecret: invalid_value",
    ],
    ["a numeric secret", { webhookUrl: URL_A, sharedSecret: 5 }, "settings.sharedSecret: invalid_value"],
    ["an unknown payload", { webhookUrl: URL_A, payload: "short" }, "settings.payload: invalid_value"],
    ["an unknown success", { webhookUrl: URL_A, success: "all" }, "settings.success: invalid_value"],
    ["no concurrency", { webhookUrl: URL_A, concurrency: 0 }, "settings.concurrency: invalid_value"],
    ["a rate limit of 0", { webhookUrl: URL_A, rateLimit: 0 }, "settings.rateLimit: invalid_value"],
    [
      "a CA file that does not exist",
      { webhookUrl: URL_A, caFile: "/no/such" },
      "settings.caFile: invalid_value",
    ],
    [
      "a CA file without certificates",
      { webhookUrl: URL_A, caFile: "/etc/hostname" },
      "settings.caFile: invalid_value",
    ],
    [
      "Standard Webhooks that are no boolean",
      { webhookUrl: URL_A, standardWebhooks: "yes" },
      "settings.standardWebhooks: invalid_value",
    ],
  ])("%s", async (_name, input, issue) => {
    expect(await issues(input)).toEqual([issue]);
  });

  it.each([
    "Host",
    "content-length",
    "Connection",
    "Transfer-Encoding",
    "TE",
    "Upgrade",
    "Proxy-Authorization",
    "User-Agent",
    "Content-Type",
    "X-Signature",
    "x-message-id",
    "X-Attempt",
    "webhook-id",
    "webhook-signature",
    "no header",
    "__proto__",
    "",
    "Ünicode",
  ])("the header %j", async (name) => {
    expect(await issues(hook({ [name]: "x" }))).toEqual([
      `settings.webhooks[0].headers[${JSON.stringify(name)}]: invalid_header`,
    ]);
  });

  it.each(["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\u0007", "中"])(
    "the header value %j",
    async (value) => {
      expect(await issues(hook({ "X-A": value }))).toHaveLength(1);
    },
  );

  it.each(["constructor", "toString"])("a masked value of %s, which every object inherits", async (name) => {
    const before = await parsed(hook({ "X-Team": "blue" }));
    const result = await parseWebhooksSettings(hook({ [name]: "••••••••" }), before, { secrets, judgeUrl });
    expect(result).toMatchObject({ ok: false, issues: [{ code: "invalid_header" }] });
  });

  it("never quotes a header's value", async () => {
    const result = await parseWebhooksSettings(hook({ "X-A": "hunter2\n" }), undefined, {
      secrets,
      judgeUrl,
    });
    expect(JSON.stringify(result)).not.toContain("hunter2");
  });

  it("the same header in different case", async () => {
    expect(await issues(hook({ "X-A": "1", "x-a": "2" }))).toHaveLength(1);
  });
});

describe("the Standard Webhooks headers", () => {
  it("are on for new destinations, even before a secret is set", async () => {
    for (const input of [{}, { sharedSecret: "s" }, { standardWebhooks: true }, { standardWebhooks: null }]) {
      expect(await parsed({ webhookUrl: URL_A, ...input })).toMatchObject({ standardWebhooks: true });
    }
    expect(await parsed({ webhookUrl: URL_A, standardWebhooks: false })).toMatchObject({
      standardWebhooks: false,
    });
  });

  it("do not change for existing destinations", async () => {
    const on = await parsed({ webhookUrl: URL_A });
    const off = { ...on, standardWebhooks: false };
    const { standardWebhooks: _, ...older } = on;
    expect(await parsed({ rateLimit: 5 }, off)).toMatchObject({ standardWebhooks: false });
    expect(await parsed({ rateLimit: 5 }, on)).toMatchObject({ standardWebhooks: true });
    expect(await parsed({ rateLimit: 5 }, older as WebhooksSettings)).toMatchObject({
      standardWebhooks: false,
    });
    expect(describeWebhooksSettings(off, secrets)).toMatchObject({ standardWebhooks: false });
  });
});

describe("stored settings", () => {
  it("seal their secrets and never show them", async () => {
    const settings = await parsed({
      webhooks: [{ url: URL_A, headers: { Authorization: "Bearer hunter2", "X-Team": "blue" } }],
      sharedSecret: ["hunter2", "hunter1"],
    });
    expect(JSON.stringify(settings)).not.toMatch(/hunter|blue/);
    const shown = describeWebhooksSettings(settings, secrets);
    expect(shown).toMatchObject({
      webhooks: [{ url: URL_A, headers: { Authorization: "••••••••", "X-Team": "blue" } }],
      sharedSecretSet: true,
      payload: "full",
      success: "any",
    });
    expect(JSON.stringify(shown)).not.toMatch(/hunter|sealed/);
  });

  it("can be shown without header values after the key was replaced", async () => {
    const settings = await parsed(hook({ "X-Team": "blue" }));
    expect(describeWebhooksSettings(settings, secretBox(randomBytes(32)))).toMatchObject({
      webhooks: [{ headers: { "X-Team": "••••••••" } }],
    });
  });

  it("are merged by key: null removes a key, and a masked value keeps the stored value", async () => {
    const before = await parsed({ ...hook({ Authorization: "Bearer a" }), sharedSecret: "s", rateLimit: 5 });
    const renamed = await parsed({ payload: "classic" }, before);
    expect(renamed).toEqual({ ...before, payload: "classic" });
    const masked = await parsed(hook({ Authorization: "••••••••", "X-New": "1" }), before);
    expect(masked.webhooks[0]?.headers.Authorization).toBe(before.webhooks[0]?.headers.Authorization);
    expect(await parsed({ sharedSecret: null, rateLimit: null }, before)).not.toHaveProperty("rateLimit");
    expect((await parsed({ sharedSecret: null }, before)).sharedSecrets).toEqual([]);
  });

  it("refuse a mask without a stored value", async () => {
    expect(await issues(hook({ Authorization: "••••••••" }))).toHaveLength(1);
  });

  it("accept the older single URL", async () => {
    expect((await parsed({ webhookUrl: URL_A })).webhooks).toEqual([{ url: URL_A, headers: {} }]);
  });
});

describe("a group of settings", () => {
  it("is completed, changed in part, and removed with null", async () => {
    const one = await parsed({ webhookUrl: URL_A, batch: { maxMessages: 5 } });
    expect(one.batch).toEqual({ maxMessages: 5, maxAgeMs: 1_000 });
    const two = await parsed({ batch: { maxAgeMs: 50 } }, one);
    expect(two.batch).toEqual({ maxMessages: 5, maxAgeMs: 50 });
    expect((await parsed({}, two)).batch).toEqual(two.batch);
    expect(await parsed({ batch: null }, two)).not.toHaveProperty("batch");
  });
});
