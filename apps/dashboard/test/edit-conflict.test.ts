import type { ComputedTraitView, DestinationView, SourceView } from "@sluice/control-api";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { remoteChange } from "../src/forms/edit-conflict.js";
import { withRule } from "../src/pages/destinations/filters/rule-draft.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

const partsOf = ({ name, limit }: { readonly name: string; readonly limit: number }) => ({
  "the name": name,
  "the limit": limit,
});
const BASE = { version: 3, name: "a", limit: 1, seen: 0 };

test.each([
  ["the same", BASE, undefined],
  ["an older one that comes late", { ...BASE, version: 2, name: "b" }, undefined],
  ["a change of what the form does not show", { ...BASE, version: 4, seen: 9 }, undefined],
  ["another name", { ...BASE, version: 4, name: "b" }, ["the name"]],
  ["both", { ...BASE, version: 5, name: "b", limit: 2 }, ["the name", "the limit"]],
])("%s is told of as such", (_what, latest, changed) => {
  expect(remoteChange(BASE, latest, partsOf)?.changed).toEqual(changed);
});

test("a saved rule replaces the edited one, wherever it was moved", () => {
  const [a, b, c] = ["a", "b", "c"].map((event) => ({ events: [event], action: { kind: "drop" as const } }));
  if (a === undefined || b === undefined || c === undefined) throw new Error("three rules");
  expect(withRule([b, a], a, c)).toEqual([b, c]);
  expect(withRule([b], a, c)).toEqual([b, c]);
  expect(withRule([b], undefined, c)).toEqual([b, c]);
});

describeInBrowser("a form about a resource that someone else changes", () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    [dashboard, browser] = await Promise.all([runDashboard(), openBrowser()]);
    watched = await openPage(browser, { isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const source = () => dashboard.api<SourceView>("GET", `/sources/${dashboard.sourceId}`);
  const patchSource = (body: object) => dashboard.api("PATCH", `/sources/${dashboard.sourceId}`, body);

  test("follows the change while it is untouched", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    const limit = page.getByRole("spinbutton", { name: "Rate limit" });
    await limit.waitFor();
    await patchSource({ rateLimit: 70 });
    await expect.poll(() => limit.inputValue()).toBe("70");
  });

  test("keeps the input, shows what changed, and cannot be saved before the user chooses", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    const settings = page.getByRole("region", { name: "Settings" });
    const name = settings.getByRole("textbox", { name: "Name" });
    await name.fill("Mine");
    await patchSource({ name: "Theirs" });
    await settings.getByText("Someone else changed the name.", { exact: false }).waitFor();
    expect(await name.inputValue()).toBe("Mine");
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toContain("Theirs");

    await settings.getByRole("button", { name: "Save", exact: true }).click();
    await settings.getByText("Not saved: this was changed while you were editing").waitFor();
    expect(await source()).toMatchObject({ name: "Theirs" });
    expect(await name.inputValue()).toBe("Mine");
    await settings.getByRole("button", { name: "Overwrite" }).click();
    await settings.getByRole("alert").waitFor({ state: "hidden" });
    expect(await source()).toMatchObject({ name: "Mine", rateLimit: 70 });

    await name.fill("Mine again");
    await patchSource({ name: "Theirs again" });
    await settings.getByRole("button", { name: "Discard my changes" }).click();
    await settings.getByRole("alert").waitFor({ state: "hidden" });
    expect(await name.inputValue()).toBe("Theirs again");
    expect(await source()).toMatchObject({ name: "Theirs again" });
  });

  test("ignores changes outside the form and saves over them", async () => {
    await page.goto(`${dashboard.url}/sources/${dashboard.sourceId}`);
    const settings = page.getByRole("region", { name: "Settings" });
    await settings.getByRole("textbox", { name: "Name" }).fill("Still mine");
    await patchSource({ blockedEvents: ["Noise"] });
    await page.getByRole("button", { name: "Unblock Noise" }).waitFor();
    await settings.getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(source).toMatchObject({ name: "Still mine", blockedEvents: ["Noise"] });
    expect(await settings.getByRole("alert").count()).toBe(0);
  });

  test("of a destination keeps the URLs that were typed", async () => {
    const made = await dashboard.api<DestinationView>("POST", "/destinations", {
      type: "webhooks",
      name: "Hooks",
      sourceIds: [],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/a` }] },
      enabled: true,
    });
    const destination = () => dashboard.api<DestinationView>("GET", `/destinations/${made.id}`);
    await page.goto(`${dashboard.url}/destinations/${made.id}?tab=settings`);
    const settings = page.getByRole("region", { name: "Settings" });
    const url = settings.getByRole("textbox", { name: "URL 1" });
    await url.fill(`${dashboard.receiver.url}/mine`);
    await dashboard.api("PATCH", `/destinations/${made.id}`, { name: "Their hooks" });
    await settings.getByText("Someone else changed the name.", { exact: false }).waitFor();
    expect(await url.inputValue()).toBe(`${dashboard.receiver.url}/mine`);
    await settings.getByRole("button", { name: "Overwrite" }).click();
    await settings.getByRole("alert").waitFor({ state: "hidden" });
    expect(await destination()).toMatchObject({
      name: "Hooks",
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/mine` }] },
    });

    const rules = page.getByRole("region", { name: "Filter" });
    const dialog = page.getByRole("dialog");
    await rules.getByRole("button", { name: "New rule" }).click();
    await dialog.getByRole("textbox", { name: "Track events" }).fill("Mine");
    const theirs = { events: ["Theirs"], action: { kind: "drop" } };
    await dashboard.api("PATCH", `/destinations/${made.id}`, { filters: [theirs] });
    await dialog.getByText("Someone else changed the rules.", { exact: false }).waitFor();
    await dialog.getByRole("button", { name: "Overwrite" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect((await destination()).filters).toEqual([theirs, { events: ["Mine"], action: { kind: "drop" } }]);
  });

  test("of a computed trait works in its dialog", async () => {
    const made = await dashboard.api<ComputedTraitView>("POST", "/computed-traits", {
      name: "Orders",
      kind: "count",
      event: "Order",
    });
    await page.goto(`${dashboard.url}/computed-traits/${made.id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Event" }).fill("Mine");
    await dashboard.api("PATCH", `/computed-traits/${made.id}`, { event: "Theirs" });
    await dialog.getByText("Someone else changed the definition.", { exact: false }).waitFor();
    expect(await dialog.getByRole("combobox", { name: "Event" }).inputValue()).toBe("Mine");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("Not saved: this was changed while you were editing").waitFor();
    await dialog.getByRole("button", { name: "Discard my changes" }).click();
    expect(await dialog.getByRole("combobox", { name: "Event" }).inputValue()).toBe("Theirs");
  });

  test("of an audience works on its page", async () => {
    const condition = { kind: "trait", trait: "plan", is: "equals", value: "pro" };
    const { id } = await dashboard.api<{ id: string }>("POST", "/audiences", { name: "Pros", condition });
    await page.goto(`${dashboard.url}/audiences/${id}/edit`);
    await page.getByRole("textbox", { name: "Name" }).fill("Mine");
    await dashboard.api("PATCH", `/audiences/${id}`, {
      condition: { kind: "trait", trait: "plan", is: "equals", value: "gold" },
    });
    await page.getByText("Someone else changed the conditions.", { exact: false }).waitFor();
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("Mine");
    await page.getByRole("button", { name: "Discard my changes" }).click();
    await expect.poll(() => page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("Pros");
    expect(await page.getByRole("textbox", { name: "Value" }).inputValue()).toBe("gold");
    expect(watched.problems).toEqual([]);
  });
});
