import type { FilterRuleView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { ruleInWords } from "../src/pages/destinations/filters/rule-draft.js";
import { schemaProperties } from "../src/pages/destinations/settings/schema-fields.js";
import {
  draftOf,
  emptyDraft,
  newHeader,
  newWebhook,
  settingsOf,
} from "../src/pages/destinations/settings/settings-draft.js";
import { issueAt, issuesOf } from "../src/words/errors.js";

const WEBHOOKS = {
  properties: { webhooks: {}, webhookUrl: {}, sharedSecret: {}, payload: {}, concurrency: {} },
};

test("saving unchanged settings keeps them and the secret", () => {
  const shown = {
    webhooks: [{ url: "https://a.example/", headers: { "X-Team": "data" } }, { url: "https://b.example/" }],
    sharedSecretSet: true,
    payload: "classic",
    concurrency: 50,
  };
  expect(settingsOf(draftOf(shown), WEBHOOKS)).toEqual({
    webhooks: [{ url: "https://a.example/", headers: { "X-Team": "data" } }, { url: "https://b.example/" }],
    payload: "classic",
    concurrency: 50,
  });
});

test("keeps, replaces or removes a secret", () => {
  const draft = draftOf({ webhooks: [{ url: "https://a.example/" }] });
  expect(settingsOf({ ...draft, secret: { value: "s", former: "" } }, WEBHOOKS)).toMatchObject({
    sharedSecret: "s",
  });
  expect(settingsOf({ ...draft, secret: null }, WEBHOOKS)).toMatchObject({
    sharedSecret: null,
  });
  expect(settingsOf({ ...draft, secret: { value: "", former: "" } }, WEBHOOKS)).not.toHaveProperty(
    "sharedSecret",
  );
});

test("omits empty rows, except the first, so that the API reports it", () => {
  const draft = {
    ...emptyDraft(),
    webhooks: [newWebhook(" https://a.example/ ", [newHeader("", "x"), newHeader(" A ", "1")]), newWebhook()],
  };
  expect(settingsOf(draft, WEBHOOKS)).toEqual({
    webhooks: [{ url: "https://a.example/", headers: { A: "1" } }],
  });
  expect(settingsOf(emptyDraft(), WEBHOOKS)).toEqual({ webhooks: [{ url: "" }] });
});

test("a type without webhooks sends only the properties of its schema", () => {
  const draft = { ...emptyDraft(), others: { fileName: "a.jsonl", other: 1 } };
  expect(settingsOf(draft, { properties: { fileName: {} } })).toEqual({ fileName: "a.jsonl" });
});

test("a list is sent without empty lines, and removed if all are empty", () => {
  const properties = { to: {}, cc: {}, password: {} };
  const others = { to: ["a@b.example ", "", " c@d.example"], cc: [""], password: undefined };
  expect(settingsOf({ ...emptyDraft(), others }, { properties })).toEqual({
    to: ["a@b.example", "c@d.example"],
    cc: null,
  });
});

test("an issue of the API is shown at its field", () => {
  const error = {
    details: { issues: [{ path: "settings.webhooks[1].url", code: "required", message: "A full URL" }] },
  };
  expect(issueAt(issuesOf(error), "webhooks[1].url")).toBe("A full URL");
  expect(issueAt(issuesOf(error), "webhooks[0].url")).toBeUndefined();
  expect(issuesOf(new Error("no"))).toEqual([]);
});

test("turns a schema into fields", () => {
  const fields = schemaProperties({
    properties: {
      payload: { title: "Body", enum: ["full", "classic"], default: "full" },
      rateLimit: { type: ["number", "null"] },
      standardWebhooks: { type: "boolean" },
      caFile: { type: ["string", "null"] },
      to: { type: "array", items: { type: "string" }, required: true },
      token: { type: "string", secret: { boundTo: ["caFile"] } },
    },
  });
  expect(fields.map(({ name, type }) => [name, type])).toEqual([
    ["payload", "choice"],
    ["rateLimit", "number"],
    ["standardWebhooks", "boolean"],
    ["caFile", "text"],
    ["to", "list"],
    ["token", "secret"],
  ]);
});

test.each<[FilterRuleView, string]>([
  [{ action: { kind: "drop" } }, "Drop all messages"],
  [{ kinds: ["page", "screen"], action: { kind: "drop" } }, "Drop page, screen"],
  [{ events: ["Viewed"], action: { kind: "sample", share: 0.25 } }, "Keep 25 % of track “Viewed”"],
  [
    {
      kinds: ["track"],
      where: [{ path: "properties.total", is: "less", value: 5 }],
      action: { kind: "remove", paths: ["context.ip"] },
    },
    "Remove context.ip from track where properties.total is less than 5",
  ],
])("%j in words", (rule, words) => expect(ruleInWords(rule)).toBe(words));
