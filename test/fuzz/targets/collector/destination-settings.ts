import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect } from "vitest";
import { secretBox } from "../../../../apps/collector/src/destinations/secret-box.js";
import { MASK } from "../../../../apps/collector/src/destinations/webhooks/settings/read-webhooks.js";
import {
  describeWebhooksSettings,
  parseWebhooksSettings,
  type WebhooksSettings,
} from "../../../../apps/collector/src/destinations/webhooks/settings/settings.js";
import { WEBHOOKS_SCHEMA } from "../../../../apps/collector/src/destinations/webhooks/settings/settings-schema.js";
import { valueTarget } from "../../engine/target.js";

const url = fc.constantFrom(
  "https://a.example/",
  "https://b.example/x",
  "http://[::1]:0/",
  "ftp://x",
  "https://u:p@c.example",
  "https://ⓐ.example/#x",
  "",
);
const headerName = fc.oneof(
  fc.constantFrom(
    "X-A",
    "x-a",
    "Authorization",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "Host",
    "a b",
  ),
  fc.string(),
);
const headerValue = fc.oneof(fc.constantFrom<unknown>(MASK, "v", "é", "a\nb", 1, null), fc.string());
const headers = fc.oneof(
  fc.array(fc.tuple(headerName, headerValue), { maxLength: 3 }).map((all) => Object.fromEntries(all)),
  fc.jsonValue({ maxDepth: 1 }),
);
const webhook = fc.oneof(
  fc.record({ url, headers, disabled: fc.boolean() }, { requiredKeys: [] }),
  fc.jsonValue({ maxDepth: 1 }),
);
const setting = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(null, true, "", "secret", 0, 1, 500, 1e9),
);
const input = fc
  .tuple(
    fc.oneof(
      fc.array(webhook, { maxLength: 3 }),
      fc.array(fc.record({ url, headers }), { minLength: 1, maxLength: 2 }),
      setting,
    ),
    fc.array(
      fc.tuple(
        fc.constantFrom(...Object.keys(WEBHOOKS_SCHEMA.properties), "__proto__", "constructor", "x"),
        setting,
      ),
      { maxLength: 3 },
    ),
  )
  .map(([webhooks, others]) => Object.fromEntries([["webhooks", webhooks], ...others]));

export const destinationSettings = valueTarget({
  name: "destination-settings",
  rule: "settings of a webhook destination are refused with paths, or stored so that they can be shown, read again and sent back",
  runs: 800,
  values: fc.tuple(input, input),
  async check([first, second]) {
    const secrets = secretBox(randomBytes(32));
    const options = { secrets, judgeUrl: async () => undefined };
    let previous: WebhooksSettings | undefined;
    for (const given of [first, second]) {
      // As the control API hands it on: parsed JSON.
      const result = await parseWebhooksSettings(JSON.parse(JSON.stringify(given)), previous, options);
      if (!result.ok) {
        for (const { path } of result.issues) expect(path.startsWith("settings")).toBe(true);
        continue;
      }
      const stored = JSON.parse(JSON.stringify(result.settings)) as WebhooksSettings;
      expect(stored).toEqual(result.settings);
      for (const { headers: sealed } of stored.webhooks)
        for (const value of Object.values(sealed)) expect(typeof secrets.open(value)).toBe("string");
      checkHeaderNames(given, stored);
      const { sharedSecretSet: _, ...shown } = JSON.parse(
        JSON.stringify(describeWebhooksSettings(stored, secrets)),
      );
      const again = await parseWebhooksSettings(shown, stored, options);
      if (!again.ok) expect(again.issues).toEqual([]);
      previous = stored;
    }
  },
});

/** A header that was accepted is a header that is sent. */
function checkHeaderNames(given: object, stored: WebhooksSettings): void {
  const webhooks = (given as { webhooks?: { headers?: object | null }[] }).webhooks ?? [];
  if (!Array.isArray(webhooks) || webhooks.length !== stored.webhooks.length) return;
  for (const [index, one] of webhooks.entries())
    expect(Object.keys(stored.webhooks[index]?.headers ?? {})).toEqual(Object.keys(one.headers ?? {}));
}
