import type { DestinationView, SourceView, TransformationView } from "@sluice/control-api";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { completionsAt, knownFields } from "../src/pages/transformations/code/completions.js";
import { differenceOf } from "../src/pages/transformations/difference/difference-view.js";
import { plannedEvents } from "../src/pages/transformations/edit-tab.js";
import { violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

describe("a difference", () => {
  const signs = { same: " ", added: "+", removed: "-", "left-out": "…" };
  const words = (before: string, after: string) =>
    differenceOf(before, after).map(({ kind, text }) => signs[kind] + text);

  test.each([
    ["a changed line", "a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]],
    ["an added line", "a\nc", "a\nb\nc", [" a", "+b", " c"]],
    ["a removed line", "a\nb\nc", "a\nc", [" a", "-b", " c"]],
    ["a last field that is not the last any more", '"a": 1', '"a": 1,\n"b": 2', [' "a": 1,', '+"b": 2']],
    ["lines that moved", "a\nb\nc\nd", "c\nd\na\nb", ["-a", "-b", " c", " d", "+a", "+b"]],
    ["nothing before", "", "a", ["-", "+a"]],
  ])("%s", (_name, before, after, expected) => {
    expect(words(before, after)).toEqual(expected);
  });

  test("leaves out what is unchanged, except around a change", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const after = lines.with(10, "other");
    expect(words(lines.join("\n"), after.join("\n"))).toEqual([
      "…7 unchanged lines",
      ...[" line 7", " line 8", " line 9", "-line 10", "+other", " line 11", " line 12", " line 13"],
      "…6 unchanged lines",
    ]);
  });

  test("of texts that are too long to compare is all of both", () => {
    const text = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join("\n");
    expect(words(text("a"), text("b"))).toHaveLength(6_000);
  });
});

test.each([
  ["  return message.", "", ["type", "event"]],
  ["message.properties.to", "to", ["total", "coupon"]],
  ["message.properties?.to", "to", ["total", "coupon"]],
  ["message.context.page.u", "u", ["url"]],
  ["sha(secrets.", "", ["SALT"]],
  ['if (message.event === "Order ', "Order ", ["Order Completed"]],
  ["other.properties.", undefined, []],
  ["const a = mess", undefined, []],
])("%j completes", (line, replaced, expected) => {
  const message = {
    type: "track",
    properties: { total: 1, "not a name": 2 },
    context: { page: { url: "https://a.example" } },
  };
  const known = knownFields([message], [{ name: "Order Completed", properties: ["coupon"] }], ["SALT"]);
  const found = completionsAt(line, known);
  expect(found && line.slice(found.from)).toBe(replaced);
  const labels = found?.names.map(({ label }) => label) ?? [];
  expect(labels).toEqual(expect.arrayContaining([...expected]));
  expect(labels).not.toContain("not a name");
});

test("events of a tracking plan are known before they are sent", () => {
  const plan = { track: { "Order Refunded": { properties: { reason: {}, total: {} } } } };
  expect(plannedEvents(plan)).toEqual([{ name: "Order Refunded", properties: ["reason", "total"] }]);
  expect(plannedEvents("no plan")).toEqual([]);
});

const CODE = `export default function transform(message, { log }) {
  if (message.type === "page") return null;
  if (message.event === "Broken") throw new Error("no total");
  log.info("masked");
  message.properties.email = "***";
  return message;
}
`;

describeInBrowser("transformations", () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  const stored = [
    {
      type: "track",
      messageId: "t1",
      userId: "u1",
      event: "Order Completed",
      properties: { email: "a@b.c" },
    },
    { type: "page", messageId: "t2", userId: "u1", name: "Pricing" },
    { type: "track", messageId: "t3", userId: "u2", event: "Broken", properties: {} },
  ];
  beforeAll(async () => {
    [dashboard, browser] = await Promise.all([runDashboard(), openBrowser()]);
    await dashboard.send(...stored);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  const create = (name: string, code = CODE) =>
    dashboard.api<TransformationView>("POST", "/transformations", { name, code });
  const get = (id: string) => dashboard.api<TransformationView>("GET", `/transformations/${id}`);
  const open = async ({ id, name }: { id: string; name: string }, tab = "edit") => {
    await page.goto(`${dashboard.url}/transformations/${id}?tab=${tab}`);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
  };
  const editor = () => page.getByRole("textbox", { name: "Code" });
  /** Types over all of the code. */
  const type = async (code: string) => {
    await editor().click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(code);
  };
  const result = () => page.getByRole("region", { name: "Result" });
  const message = (name: RegExp) => page.getByRole("button", { name });

  test("is written, tried on the newest messages, saved, and listed", async () => {
    await page.goto(`${dashboard.url}/transformations`);
    await page.getByText("No transformations yet").waitFor();
    await page.getByRole("main").getByRole("link", { name: "New transformation" }).last().click();
    await message(/Order Completed.*Unchanged/).waitFor();
    await page.getByLabel("Start from").selectOption("Drop bots");
    await editor().getByText("const BOTS").waitFor();
    await type(CODE);
    expect(await page.getByLabel("Start from").inputValue()).toBe("own");
    await message(/Order Completed.*Changed/).click();
    await result().getByText('+   "email": "***"', { exact: false }).waitFor();
    await result().getByText("masked").waitFor();
    await message(/Pricing.*Dropped/).click();
    await result().getByText("Dropped: nothing is delivered.").waitFor();
    await message(/Broken.*Failed/).click();
    await result()
      .getByText(/no total/)
      .first()
      .waitFor();
    await result()
      .getByText(/^Line 3/)
      .waitFor();
    await page.locator(".cm-lint-marker-error").waitFor();

    await page.getByLabel("Newest messages").fill("2000");
    await page.getByRole("button", { name: "Run" }).click();
    const dry = page.getByRole("region", { name: "Dry run" });
    await dry.getByText(/^3 messages in/).waitFor();
    await dry.getByRole("row", { name: /no total.*Line 3.* 1 t3/ }).waitFor();
    await dry.getByText(/^Changed Order/).click();
    await dry.getByText('+   "email": "***"', { exact: false }).waitFor();
    expect(await violations(page)).toEqual([]);

    const name = page.getByRole("textbox", { name: "Name" });
    expect(await name.inputValue()).toBe("Drop bots");
    await name.fill("Mask e-mail");
    await page.keyboard.press("Control+s");
    await page.getByText("Saved. Version 1 is in force").waitFor();
    await page.getByRole("heading", { name: "Mask e-mail", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Transformations" }).first().click();
    await page.getByRole("row", { name: /Mask e-mail 1 Nothing/ }).waitFor();
  });

  test("is tried on a pasted message, and says where the code cannot run", async () => {
    await page.goto(`${dashboard.url}/transformations/new`);
    await page.getByLabel("Messages to try the code on").selectOption("Paste a message");
    const text = page.getByRole("textbox", { name: "Message as JSON" });
    await text.fill("{");
    await page.getByText("This is not a JSON object.").waitFor();
    await text.fill('{"type":"track","messageId":"mine","properties":{"email":"x@y.z"}}');
    await type(CODE);
    await result().getByText('−   "email": "x@y.z"', { exact: false }).waitFor();
    await type(CODE.replace("message.type", "message type"));
    await result()
      .getByText(/^Line 2/)
      .waitFor();
    await page.locator(".cm-lint-marker-error").waitFor();
    await page.getByRole("textbox", { name: "Name" }).fill("Wrong");
    await page.keyboard.press("Control+s");
    await page
      .getByRole("alert")
      .getByText(/line 2/i)
      .waitFor();
    expect((await dashboard.api<{ items: object[] }>("GET", "/transformations")).items).not.toContainEqual(
      expect.objectContaining({ name: "Wrong" }),
    );
  });

  test("is tried on what a destination gets, after its filters and the code of its source", async () => {
    const { id } = await dashboard.api<{ id: string }>("POST", "/destinations", {
      ...{ type: "console", name: "Orders only" },
      sourceIds: [dashboard.sourceId],
      filters: [{ events: ["Noise"], action: { kind: "drop" } }],
    });
    // It gets what is sent from now on.
    await dashboard.send(
      { type: "track", messageId: "t4", userId: "u3", event: "Refunded" },
      { type: "track", messageId: "t5", userId: "u3", event: "Noise" },
    );
    await page.goto(`${dashboard.url}/transformations/new`);
    await message(/Refunded/).waitFor();
    await page
      .getByLabel("Messages to try the code on")
      .selectOption("Destination Orders only, as it gets them");
    await message(/Refunded.*Unchanged/).waitFor();
    await message(/Noise/).click();
    await result().getByText("or the destination does not get it", { exact: false }).waitFor();
    await dashboard.api("DELETE", `/destinations/${id}`);
  });

  test("completes names of fields, and Tab leaves the editor unless something is typed", async () => {
    await page.goto(`${dashboard.url}/transformations/new`);
    await message(/Order Completed/).waitFor();
    const isInEditor = () => editor().evaluate((element) => element === document.activeElement);
    await page.getByRole("combobox", { name: "Language" }).focus();
    await page.keyboard.press("Tab");
    await expect.poll(isInEditor).toBe(true);
    await page.keyboard.press("Tab");
    expect(await isInEditor()).toBe(false);
    await editor().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("message.properties.em");
    await page.getByRole("option", { name: /^email/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await isInEditor()).toBe(true);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await isInEditor()).toBe(false);
  });

  test("knows the types of messages and of tracking plans: completes, underlines a mistake, and says what a name is", async () => {
    await dashboard.api("PUT", `/sources/${dashboard.sourceId}/plan`, {
      plan: {
        track: {
          "Plan Chosen": {
            properties: { seats: { type: "integer" }, tier: { enum: ["pro", "team"] } },
            additionalProperties: false,
          },
        },
      },
    });
    await page.goto(`${dashboard.url}/transformations/new`);
    await type(
      `import type { Message } from "@sluice/transformations";
export default function transform(message: Message) {
  if (message.type === "track" && message.event === "Plan Chosen") message.properties.`,
    );
    await page.keyboard.type("ti");
    const offered = page.locator(".cm-tooltip-autocomplete li");
    await offered.getByText('"pro" | "team" | undefined').waitFor();
    expect(await offered.count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.keyboard.insertText(" = 'basic';\n  return message;\n}\n");
    const underlined = page.locator(".cm-lintRange-error");
    await underlined.filter({ hasText: "tier" }).waitFor();
    const hovering = (place: Locator, shown: string) => async () => {
      await page.mouse.move(0, 0);
      await place.hover();
      return page
        .locator(shown)
        .textContent({ timeout: 3_000 })
        .catch(() => undefined);
    };
    await expect
      .poll(hovering(underlined.first(), ".cm-diagnostic"))
      .toContain(`Type '"basic"' is not assignable to type '"pro" | "team" | undefined'`);
    expect(await violations(page)).toEqual([]);
    await type(
      "import type { Message } from '@sluice/transformations';\nexport default (message: Message) => (message.receivedAt ? message : null);\n",
    );
    await expect.poll(() => underlined.count()).toBe(0);
    await expect.poll(hovering(editor().getByText("receivedAt"), ".cm-type")).toBe("receivedAt: string");
    await dashboard.api("DELETE", `/sources/${dashboard.sourceId}/plan`);
  });

  test("each save is a version, and an earlier one is put in force in one step", async () => {
    const made = await create("Versions");
    await open(made);
    await type(CODE.replace("***", "hidden"));
    await page.getByRole("button", { name: "Save version 2" }).click();
    await page.getByText("Saved. Version 2 is in force").waitFor();
    await page.getByRole("tab", { name: "Versions (2)" }).click();
    const first = page.getByRole("row", { name: /^Version 1/ });
    await first.getByRole("button", { name: "Compare" }).click();
    await page.getByText('+   message.properties.email = "***";', { exact: false }).waitFor();
    expect(await violations(page)).toEqual([]);
    await first.getByRole("button", { name: "Put in force" }).click();
    await page.getByRole("row", { name: /^Version 1 In force/ }).waitFor();
    expect(await get(made.id)).toMatchObject({ current: 1, newest: 2 });
    await page
      .getByRole("row", { name: /^Version 2/ })
      .getByRole("button", { name: "Edit" })
      .click();
    await editor().getByText("hidden").waitFor();
    await page.getByRole("button", { name: "Save version 3" }).waitFor();
  });

  test("keeps the code while someone else saves another, and says who", async () => {
    const made = await create("Shared");
    await open(made);
    await type("export default (message) => message; // mine");
    await dashboard.api("PATCH", `/transformations/${made.id}`, { code: `${CODE}// theirs` });
    await page.getByText(/\(version 2\) changed the code\./).waitFor();
    await editor().getByText("// mine").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText("Not saved: this was changed while you were editing").waitFor();
    expect((await get(made.id)).code).toContain("// theirs");
    await page.getByRole("button", { name: "Overwrite" }).click();
    await page.getByText("Saved. Version 3 is in force").waitFor();
    expect((await get(made.id)).code).toContain("// mine");
  });

  test("asks before it loses what is typed: by a link, a shortcut, and Back", async () => {
    const made = await create("Careful");
    await page.goto(`${dashboard.url}/transformations`);
    await page.getByRole("link", { name: "Careful" }).click();
    await type("export default (message) => message; // kept");
    const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
    const stay = async () => {
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "hidden" });
      await editor().getByText("// kept").waitFor();
      expect(new URL(page.url()).pathname).toBe(`/transformations/${made.id}`);
    };
    await page.getByRole("link", { name: "Sources" }).click();
    await stay();
    await page.goBack();
    await stay();
    await page.getByRole("tab", { name: /Versions/ }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await dialog.getByRole("button", { name: "Discard my changes" }).click();
    await page.getByRole("heading", { name: "Live messages", level: 1 }).waitFor();
  });

  test("sets, replaces and removes secrets, whose values are not shown", async () => {
    const made = await create("Secretive");
    await open(made, "use");
    const card = page.getByRole("region", { name: "Secrets" });
    await card.getByLabel("Name").fill("salt");
    await card.getByLabel("Value").fill("v3ry-secret");
    await card.getByRole("button", { name: "Set secret" }).click();
    await card.getByRole("button", { name: "Replace SALT" }).click();
    await card.getByLabel("Value").fill("another");
    await card.getByRole("button", { name: "Replace secret" }).click();
    await expect.poll(() => card.getByLabel("Value").inputValue()).toBe("");
    expect(await page.content()).not.toContain("v3ry-secret");
    await card.getByRole("button", { name: "Remove SALT" }).click();
    await page.getByRole("button", { name: "Remove secret" }).click();
    await card.getByText("None.").waitFor();
    expect(await get(made.id)).toMatchObject({ secretNames: [], current: 1 });
  });

  test("is named where it fails, with a link to its page", async () => {
    const made = await create("Failing");
    const { id } = await dashboard.api<DestinationView>("POST", "/destinations", {
      type: "webhooks",
      name: "Failing hook",
      sourceIds: [dashboard.sourceId],
      transformationId: made.id,
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/failing` }] },
    });
    await dashboard.send(
      { type: "track", messageId: "bad", userId: "u3", event: "Broken" },
      { type: "track", messageId: "good", userId: "u3", event: "Order Completed", properties: {} },
    );
    for (const [messageId, state] of [
      ["bad", "failed"],
      ["good", "delivered"],
    ])
      await dashboard.api(
        "GET",
        `/wait?messageId=${messageId}&destinationId=${id}&state=${state}&timeoutMs=60000`,
      );
    await page.goto(`${dashboard.url}/messages/good`);
    await page.getByText("Transformed by Failing, version 1").waitFor();
    await page.goto(`${dashboard.url}/messages/bad`);
    await page.getByRole("link", { name: "Failing, version 1" }).waitFor();
    await page.goto(`${dashboard.url}/deliveries?destination=${id}&cause=transform_failed`);
    await page.getByRole("link", { name: "Failing", exact: true }).click();
    await page.getByRole("heading", { name: "Failing", level: 1 }).waitFor();
    await dashboard.api("DELETE", `/destinations/${id}`);
  });

  test("is attached and detached from its page, and from those of destination and source", async () => {
    const made = await create("Attached");
    const hook = await dashboard.api<DestinationView>("POST", "/destinations", {
      type: "webhooks",
      name: "Hook",
      sourceIds: [dashboard.sourceId],
      settings: { webhooks: [{ url: `${dashboard.receiver.url}/a` }] },
    });
    const destination = () => dashboard.api<DestinationView>("GET", `/destinations/${hook.id}`);
    const source = () => dashboard.api<SourceView>("GET", `/sources/${dashboard.sourceId}`);
    await open(made, "use");
    await page.getByLabel("Destination or source").selectOption("Destination Hook");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await page.getByRole("button", { name: "Detach Hook" }).waitFor();
    expect((await destination()).transformationId).toBe(made.id);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete transformation" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete transformation" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Detach Hook" }).click();
    await page.getByText("Nothing. No message goes through it.").waitFor();
    expect((await destination()).transformationId).toBeUndefined();

    for (const [path, read] of [
      [`/destinations/${hook.id}?tab=settings`, destination],
      [`/sources/${dashboard.sourceId}`, source],
    ] as const) {
      await page.goto(dashboard.url + path);
      const settings = page.getByRole("region", { name: "Settings" });
      await settings.getByLabel("Transformation").selectOption("Attached");
      await settings.getByRole("button", { name: "Save", exact: true }).click();
      await expect.poll(async () => (await read()).transformationId).toBe(made.id);
    }
    await page.goto(`${dashboard.url}/transformations`);
    await page.getByRole("row", { name: /Attached 1 Hook, / }).waitFor();
  });
});
