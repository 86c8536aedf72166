import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

/**
 * Every field of the control API's request bodies, and the file of the form that sets it. A new field of the API fails
 * this test until it is listed here.
 */
const FORMS: Readonly<Record<string, string>> = {
  "sources.create name": "sources/sources-page.tsx",
  "sources.create kind": "sources/sources-page.tsx",
  "sources.create blockedEvents": "sources/blocked-events.tsx",
  "sources.create rateLimit": "sources/source-settings.tsx",
  "sources.create identity": "sources/source-settings.tsx",
  "sources.patch name": "sources/source-settings.tsx",
  "sources.patch blockedEvents": "sources/blocked-events.tsx",
  "sources.patch rateLimit": "sources/source-settings.tsx",
  "sources.patch identity": "sources/source-settings.tsx",
  "destinations.create type": "catalog/catalog-page.tsx",
  "destinations.create name": "destinations/settings/destination-fields.tsx",
  "destinations.create sourceIds": "destinations/settings/destination-fields.tsx",
  "destinations.create settings": "destinations/settings/destination-fields.tsx",
  "destinations.create enabled": "catalog/catalog-page.tsx",
  "destinations.create retryForMs": "destinations/settings/destination-fields.tsx",
  "destinations.create notifyAfterMs": "destinations/settings/destination-fields.tsx",
  "destinations.create filters": "destinations/filters/filter-rules.tsx",
  "destinations.patch name": "destinations/settings/destination-fields.tsx",
  "destinations.patch sourceIds": "destinations/settings/destination-fields.tsx",
  "destinations.patch settings": "destinations/settings/destination-fields.tsx",
  "destinations.patch retryForMs": "destinations/settings/destination-fields.tsx",
  "destinations.patch notifyAfterMs": "destinations/settings/destination-fields.tsx",
  "destinations.patch enabled": "destinations/enabled-switch.tsx",
  "destinations.patch backlog": "destinations/enabled-switch.tsx",
  "destinations.patch filters": "destinations/filters/filter-rules.tsx",
  "sources.create transformationId": "sources/source-settings.tsx",
  "sources.patch transformationId": "sources/source-settings.tsx",
  "destinations.create transformationId": "catalog/catalog-page.tsx",
  "destinations.patch transformationId": "destinations/settings/settings-card.tsx",
  "transformations.create name": "transformations/use-save.ts",
  "transformations.create code": "transformations/use-save.ts",
  "transformations.create language": "transformations/use-save.ts",
  "transformations.create secrets": "transformations/use-tab.tsx",
  "transformations.patch name": "transformations/use-save.ts",
  "transformations.patch code": "transformations/use-save.ts",
  "transformations.patch language": "transformations/use-save.ts",
  "transformations.patch current": "transformations/versions-tab.tsx",
  "transformations.patch secrets": "transformations/use-tab.tsx",
  "transformations.test id": "transformations/trial/use-trial.ts",
  "transformations.test code": "transformations/trial/use-trial.ts",
  "transformations.test language": "transformations/trial/use-trial.ts",
  "transformations.test messages": "transformations/trial/use-trial.ts",
  "transformations.test messageIds": "transformations/trial/use-trial.ts",
  "transformations.test destinationId": "transformations/trial/use-trial.ts",
  "transformations.dryRun id": "transformations/dry-run-card.tsx",
  "transformations.dryRun code": "transformations/dry-run-card.tsx",
  "transformations.dryRun language": "transformations/dry-run-card.tsx",
  "transformations.dryRun sourceId": "transformations/origins.ts",
  "transformations.dryRun destinationId": "transformations/origins.ts",
  "transformations.dryRun messages": "transformations/dry-run-card.tsx",
  "filters kinds": "destinations/filters/rule-draft.ts",
  "filters events": "destinations/filters/rule-draft.ts",
  "filters where": "destinations/filters/rule-draft.ts",
  "filters action": "destinations/filters/rule-draft.ts",
  "replays.create filter": "deliveries/replay/replay-dialog.tsx",
  "replays.create dryRun": "deliveries/replay/replay-dialog.tsx",
  "replay destinationId": "deliveries/replay/replay-draft.ts",
  "replay messageId": "deliveries/replay/replay-draft.ts",
  "replay type": "deliveries/replay/replay-draft.ts",
  "replay event": "deliveries/replay/replay-draft.ts",
  "replay userId": "deliveries/replay/replay-draft.ts",
  "replay state": "deliveries/replay/replay-draft.ts",
  "replay from": "deliveries/replay/replay-draft.ts",
  "replay to": "deliveries/replay/replay-draft.ts",
  "replay cause": "deliveries/delivery-list.tsx",
  "operations.create kind": "deliveries/retry-button.tsx",
  "operations.create filter": "deliveries/retry-button.tsx",
  "operations.create ids": "deliveries/retry-button.tsx",
  "sources.setPlan plan": "sources/plan-dialog.tsx",
  "sources.setPlan mode": "sources/plan-card.tsx",
  "tokens.create name": "settings/tokens-card.tsx",
  "tokens.create access": "settings/tokens-card.tsx",
  "audiences.create name": "audiences/audience-form.tsx",
  "audiences.create condition": "audiences/audience-form.tsx",
  "audiences.create destinationIds": "audiences/sending-card.tsx",
  "audiences.create sync": "audiences/audience-form.tsx",
  "audiences.create trackEvents": "audiences/sending-card.tsx",
  "audiences.create enabled": "audiences/sending-card.tsx",
  "audiences.patch name": "audiences/audience-form.tsx",
  "audiences.patch condition": "audiences/audience-form.tsx",
  "audiences.patch destinationIds": "audiences/sending-card.tsx",
  "audiences.patch sync": "audiences/audience-form.tsx",
  "audiences.patch trackEvents": "audiences/sending-card.tsx",
  "audiences.patch enabled": "audiences/audience-page.tsx",
  "audiences.patch paused": "audiences/audience-page.tsx",
  "sync initialDelayMs": "audiences/sending-card.tsx",
  "sync everyMs": "audiences/sending-card.tsx",
  "audiences.preview condition": "audiences/audience-form.tsx",
  "computed_traits.preview kind": "computed-traits/trait-draft.ts",
  "computed_traits.preview event": "computed-traits/trait-draft.ts",
  "computed_traits.preview property": "computed-traits/trait-draft.ts",
  "computed_traits.preview withinMs": "computed-traits/trait-draft.ts",
  "computed_traits.create name": "computed-traits/trait-draft.ts",
  "computed_traits.create kind": "computed-traits/trait-draft.ts",
  "computed_traits.create event": "computed-traits/trait-draft.ts",
  "computed_traits.create property": "computed-traits/trait-draft.ts",
  "computed_traits.create withinMs": "computed-traits/trait-draft.ts",
  "computed_traits.create destinationIds": "computed-traits/trait-draft.ts",
  "computed_traits.create enabled": "computed-traits/trait-draft.ts",
  "computed_traits.patch name": "computed-traits/trait-draft.ts",
  "computed_traits.patch kind": "computed-traits/trait-draft.ts",
  "computed_traits.patch event": "computed-traits/trait-draft.ts",
  "computed_traits.patch property": "computed-traits/trait-draft.ts",
  "computed_traits.patch withinMs": "computed-traits/trait-draft.ts",
  "computed_traits.patch destinationIds": "computed-traits/trait-draft.ts",
  "computed_traits.patch enabled": "computed-traits/trait-draft.ts",
  "deletions.create userIds": "deletions/new-deletion.tsx",
  "deletions.create anonymousIds": "deletions/new-deletion.tsx",
  "deletions.create suppress": "deletions/new-deletion.tsx",
  "deletions.create includeAliases": "deletions/new-deletion.tsx",
  "deletions.create dryRun": "deletions/new-deletion.tsx",
};

/** Fields without a form, and why. */
const WITHOUT_FORM: Readonly<Record<string, string>> = {
  "operations.create dryRun": "the list shows the number of deliveries before anything is started",
  "transformations.test newest": "the page keeps the messages that it has, so that results can be compared",
  "newest count": "as above",
  "newest sourceId": "as above",
  "operations.create perSecond": "the default is right for a person at a screen",
  "deletions.retry destinationId": "the button retries every failed destination",
};

/** Nested fields are listed under these names. */
const INSIDE: Readonly<Record<string, string>> = { filters: "filters", filter: "replay", sync: "sync" };

interface Settings {
  readonly [name: string]: { title?: string; deprecated?: boolean; properties?: Settings };
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

describeInBrowser("fields of the API", () => {
  let browser: Browser;
  let dashboard: RunningDashboard;
  beforeAll(async () => {
    [browser, dashboard] = await Promise.all([openBrowser(), runDashboard()]);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  test("every field of every request body has a form in the dashboard", async () => {
    const answer = await fetch(`${dashboard.url}/api/v1/openapi.json`);
    const { paths } = (await answer.json()) as {
      paths: Record<
        string,
        Record<
          string,
          { operationId: string; requestBody?: { content: { "application/json": { schema: Schema } } } }
        >
      >;
    };
    const fields = new Set<string>();
    for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      const schema = operation.requestBody?.content["application/json"].schema;
      for (const [name, property] of Object.entries(schema?.properties ?? {})) {
        // The version is a precondition, not a setting.
        if (name === "version") continue;
        fields.add(`${operation.operationId} ${name}`);
        const inside = property.properties ?? property.items?.properties ?? {};
        for (const inner of Object.keys(inside)) fields.add(`${INSIDE[name] ?? name} ${inner}`);
      }
    }
    expect([...fields].sort()).toEqual([...Object.keys(FORMS), ...Object.keys(WITHOUT_FORM)].sort());
    for (const [field, file] of Object.entries(FORMS)) {
      const source = await readFile(fileURLToPath(new URL(`../src/pages/${file}`, import.meta.url)), "utf8");
      expect(source, `${file} sets ${field}`).toContain(field.split(" ")[1]);
    }
  });

  test("every setting of every type in the catalog is in its form", async () => {
    const { items } = await dashboard.api<{
      items: {
        type: string;
        settingsSchema: { properties?: Settings };
      }[];
    }>("GET", "/catalog");
    const { page, context, problems } = await openPage(browser);
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
    for (const { type, settingsSchema } of items) {
      await page.goto(`${dashboard.url}/catalog/${type}`);
      await page.getByRole("button", { name: /^Connect/ }).waitFor();
      const more = page.getByText("More settings");
      if (await more.isVisible()) await more.click();
      const settings = Object.entries(settingsSchema.properties ?? {}).flatMap(([name, setting]) =>
        Object.entries(setting.properties ?? { [name]: setting }),
      );
      for (const [name, { title = name, deprecated }] of settings) {
        if (deprecated) continue;
        const label = name === "webhooks" ? "URL 1" : title;
        await page.getByLabel(label, { exact: false }).first().waitFor();
      }
    }
    expect(problems).toEqual([]);
    await context.close();
  });
});
