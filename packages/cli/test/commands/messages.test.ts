import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli, receiver } from "../support/cli.js";
import { startProxy } from "../support/proxy.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

describe("send", () => {
  it("sends a message and prints its id", async () => {
    const { messageId, accepted } = await json([
      "send",
      "track",
      "--event",
      "Paid",
      "--properties",
      '{"sum":5}',
    ]);
    expect(accepted).toBe(1);
    const message = await json(["messages", "get", messageId]);
    expect(message).toMatchObject({ state: "accepted", message: { event: "Paid", properties: { sum: 5 } } });
  });

  it("sends many messages", async () => {
    expect(await json(["send", "track", "--event", "Many", "--count", "600"])).toMatchObject({
      accepted: 600,
    });
  });

  it("prints why a message was refused", async () => {
    const { err } = await at.sluice(["send", "track"], 6);
    expect(err).toContain("event_not_defined");
  });

  it.each([
    ["an unknown kind", ["send", "trakc"], 2],
    ["properties that are not an object", ["send", "track", "--event", "a", "--properties", "[1]"], 2],
    ["an unknown option", ["send", "track", "--evnt", "a"], 2],
    ["a wrong key", ["send", "track", "--event", "a", "--write-key", "nope"], 4],
  ])("refuses %s", async (_name, args, code) => {
    await at.sluice(args, code);
  });
});

it("messages list reads on if a page is empty but has a next one", async () => {
  const { messageId } = await json(["send", "track", "--event", "Rare"]);
  const asked: string[] = [];
  await using proxy = await startProxy(at.url, {
    change(path, text) {
      asked.push(path);
      return asked.length === 1 ? '{"items":[],"nextCursor":"1000000"}' : text;
    },
  });
  const listing = cli(["messages", "list", "event:Rare"], { env: { ...at.env, SLUICE_URL: proxy.url } });
  expect(await listing.code).toBe(0);
  expect(listing.out()).toContain(messageId);
  expect(asked.at(-1)).toContain("cursor=1000000");
});

describe("messages and deliveries for people", () => {
  it("wait for all destinations, name them, and count outcomes", async () => {
    await using well = await receiver();
    await using broken = await receiver(404);
    await at.sluice(["destinations", "create", "--webhook", well.url, "--name", "Well"]);
    await at.sluice(["destinations", "create", "--webhook", broken.url, "--name", "Broken one"]);
    const { messageId } = await json(["send", "track", "--event", "Two ways"]);
    const wait = ["messages", "wait", messageId, "--timeout"];
    const { out } = await at.sluice([...wait, "20s", "--any"]);
    expect(out).toMatch(/→ delivered Well: /);
    expect(out.trim().split("\n")).toHaveLength(3);
    await at.sluice([...wait, "20s", "--destination", "Broken one", "--state", "failed"]);
    // It failed permanently at one destination, so the wait ends at once.
    const { err } = await at.sluice([...wait, "20s"], 8);
    expect(err).toMatch(/→ failed Broken one: .*404/);
    const details = (await at.sluice(["messages", "get", messageId])).out;
    expect(details).toMatch(/→ failed Broken one: /);
    expect(details).toMatch(/request headers\n +User-Agent: Sluice\/1\.0\n/);
    expect(details).toMatch(/request body\n +\{"version":1,"type":"track",.*"event":"Two ways"/);
    expect(details).toMatch(/response headers\n( +\S+: .*\n)* +connection: keep-alive\n/);
    const listed = (await at.sluice(["messages", "list", "event:Two ways"])).out;
    expect(listed).toContain("  1/2 delivered, 1 failed  ");
    const deliveries = (await at.sluice(["deliveries", "list", "--state", "failed"])).out.split("\n");
    expect(deliveries[0]).toMatch(/^ID +DESTINATION +MESSAGE +EVENT +USER +STATE/);
    expect(deliveries[1]).toMatch(new RegExp(`^\\S+ +Broken one +${messageId} +Two ways +\\S+ +failed`));
    const id = deliveries[1]?.split(" ")[0] ?? "";
    const retried = (await at.sluice(["deliveries", "retry", id])).out;
    expect(retried).toMatch(/^failed again \S+: 404 Not Found\n/);
    expect(retried).toContain(`See the result: npx sluice deliveries get ${id}`);
    const groups = (await at.sluice(["deliveries", "groups", "--destination", "Broken one"])).out;
    expect(groups).toMatch(/^DESTINATION +CAUSE +FAILED +RETRIED/);
    expect(groups).toMatch(/\nBroken one +http_404 +1 +0 /);
    expect(groups).toMatch(/ 404 Not Found +The receiver has nothing/);
    const bulk = ["--destination", "Broken one", "--cause", "http_404"];
    const again = (await at.sluice(["deliveries", "retry", ...bulk], 6)).out;
    expect(again).toMatch(/^retry op_\S+: finished, 1 delivery: 1 failed again \(404 Not Found\)\n/);
    expect((await at.sluice(["deliveries", "retry"], 2)).err).toContain("--all");
    expect((await at.sluice(["deliveries", "discard", ...bulk], 2)).err).toContain("--yes");
    const discarded = await json(["deliveries", "discard", ...bulk, "--yes"]);
    expect(discarded).toMatchObject({ state: "finished", results: { discarded: 1 } });
    expect((await at.sluice(["deliveries", "groups"])).out).toContain("Nothing fails");
    expect((await at.sluice(["messages", "get", messageId])).out).toMatch(/→ discarded Broken one: /);
    expect((await at.sluice(["operations", "list"])).out).toContain("1 discarded");
    const shown = (await at.sluice(["operations", "show", discarded.id])).out;
    expect(shown).toMatch(/^discard op_\S+: finished, 1 delivery: 1 discarded\n/);
    expect((await json(["operations", "cancel", discarded.id])).state).toBe("finished");
    const one = ["replay", "--destination", "Well", "--message", messageId];
    expect((await at.sluice([...one, "--dry-run"])).out).toBe("1 message would be sent again\n");
    expect((await at.sluice(one)).out).toContain("1 message will be sent again\n");
    for (const name of ["Well", "Broken one"]) await at.sluice(["destinations", "delete", name, "--yes"]);
  });

  it("show how a message departs from a plan that only reports", async () => {
    const plan = join(mkdtempSync(join(tmpdir(), "sluice-plan-")), "plan.json");
    const track = { Planned: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] } };
    writeFileSync(plan, JSON.stringify({ name: "Shop", track }));
    const [{ id: sourceId }] = (await json(["sources", "list"])).items;
    await at.sluice(["sources", "plan", "set", sourceId, plan, "--mode", "report"]);
    const { messageId } = await json(["send", "track", "--event", "Planned"]);
    const violation = "`properties` must have the property `sum`";
    expect((await at.sluice(["messages", "get", messageId])).out).toContain(`plan_violation ${violation}`);
    expect((await at.sluice(["messages", "list", "event:Planned"])).out).toContain(messageId);
    expect((await at.sluice(["messages", "list", "--rejected"])).out).not.toContain(messageId);
    await at.sluice(["sources", "plan", "remove", sourceId, "--yes"]);
  });

  it("say that a message does not exist", async () => {
    expect((await at.sluice(["messages", "get", "nope"], 5)).err).toBe("error: no message has the id nope\n");
  });
});

describe("tail", () => {
  it("shows matching messages as JSON lines, and stops after --count", async () => {
    const tail = at.start(["tail", "event:Tailed Event", "--json", "--count", "2"]);
    // The command does not print when the stream is open, so messages are sent until it has shown two.
    let isDone = false;
    const sending = (async () => {
      while (!isDone) await at.sluice(["send", "track", "--event", "Tailed Event"]);
    })();
    expect(await tail.code).toBe(0);
    isDone = true;
    await sending;
    const lines = tail
      .out()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { kind: "message", message: { event: "Tailed Event" } },
      { kind: "message", message: { event: "Tailed Event" } },
    ]);
  });

  it("starts with the last messages, and escapes their contents", async () => {
    await at.sluice([
      "send",
      "track",
      "--event",
      "Evil \u001b[2J",
      "--properties",
      '{"a":"\\u001b]0;x\\u0007"}',
    ]);
    const { out } = await at.sluice(["tail", "--last", "1", "--count", "1", "event:Evil*"]);
    expect(out).toContain("Evil \\u001b[2J");
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u0007");
  });

  it("says that a filter finds no refused messages, here and in the list", async () => {
    const hint = "They are here: npx sluice messages list --rejected";
    await fetch(`${at.env.SLUICE_URL}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${at.env.SLUICE_WRITE_KEY}:`)}` },
      body: '{"userId":"refused-user"}',
    });
    const none = await at.sluice(["messages", "list", "user:refused-user"]);
    expect([none.out, none.err]).toEqual(["no message matches\n", expect.stringContaining(hint)]);
    expect((await at.sluice(["messages", "list", "--rejected", "user:x"], 2)).err).toContain(
      "without a filter",
    );
    const tail = at.start(["tail", "user:x"]);
    await tail.printed(/--rejected/);
    tail.interrupt();
    expect(await tail.code).toBe(0);
  });

  it("names the wrong part of a filter", async () => {
    const { err } = await at.sluice(["tail", "colour:red"], 2);
    expect(err).toContain("is not a field");
  });

  it("ends without an error at Ctrl-C", async () => {
    const tail = at.start(["tail"]);
    tail.interrupt();
    expect(await tail.code).toBe(0);
  });
});
