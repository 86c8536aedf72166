import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { sign, signStandard } from "@sluice/webhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli, receiver } from "../support/cli.js";
import { between } from "../support/proxy.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

it("messages list goes on where a page is short though there is more", async () => {
  const { messageId } = await json(["send", "track", "--event", "Rare"]);
  const asked: string[] = [];
  await using door = await between(at.url, {
    change(path, text) {
      asked.push(path);
      return asked.length === 1 ? '{"items":[],"nextCursor":"1000000"}' : text;
    },
  });
  const listing = cli(["messages", "list", "event:Rare"], { env: { ...at.env, SLUICE_URL: door.url } });
  expect(await listing.code).toBe(0);
  expect(listing.out()).toContain(messageId);
  expect(asked.at(-1)).toContain("cursor=1000000");
});

describe("send", () => {
  it("sends one and tells its id; the message is found by it", async () => {
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

  it("sends many", async () => {
    expect(await json(["send", "track", "--event", "Many", "--count", "600"])).toMatchObject({
      accepted: 600,
    });
  });

  it("names what was refused", async () => {
    const { err } = await at.sluice(["send", "track"], 6);
    expect(err).toContain("event_not_defined");
  });

  it.each([
    ["an unknown kind", ["send", "trakc"], 2],
    ["properties that are no object", ["send", "track", "--event", "a", "--properties", "[1]"], 2],
    ["an unknown option", ["send", "track", "--evnt", "a"], 2],
    ["a wrong key", ["send", "track", "--event", "a", "--write-key", "nope"], 4],
  ])("refuses %s", async (_name, args, code) => {
    await at.sluice(args, code);
  });
});

describe("sources, destinations, deliveries", () => {
  it("makes, changes, rotates and deletes a source", async () => {
    const { id } = await json(["sources", "create", "Shop", "--kind", "web"]);
    await json(["sources", "update", "Shop", "--block", "Debug", "--rate-limit", "500"]);
    expect(await json(["sources", "get", id])).toMatchObject({ blockedEvents: ["Debug"], rateLimit: 500 });
    const rotated = await json(["sources", "rotate-key", id]);
    expect(rotated.writeKeys).toHaveLength(2);
    await at.sluice(["sources", "delete-key", id, rotated.writeKeys[0].key]);
    await at.sluice(["sources", "delete", id], 2);
    await at.sluice(["sources", "delete", id, "--yes"]);
    await at.sluice(["sources", "get", id], 5);
  });

  it("delivers to a webhook, shows the delivery, replays it, tests it", async () => {
    await using hook = await receiver();
    const args = ["destinations", "create", "--webhook", hook.url, "--secret", "hush", "--name", "Hook"];
    const { id } = await json([...args, "--source", at.sourceId]);
    const { messageId } = await json(["send", "track", "--event", "Hooked"]);
    const waited = await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect(waited.outcomes).toMatchObject([{ state: "delivered", destinationId: id }]);
    expect(hook.received[0]?.headers["x-signature"]).toMatch(/^[0-9a-f]{40}$/);
    const counted = await json(["replay", "--destination", "Hook", "--message", messageId, "--dry-run"]);
    expect(counted).toEqual({ count: 1 });
    await json(["replay", "--destination", "Hook", "--message", messageId]);
    // It is pending until it is delivered again.
    await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect(await json(["destinations", "test", "Hook"])).toMatchObject({ state: "delivered" });
    const listed = await json(["deliveries", "list", "--state", "delivered", "--destination", "Hook"]);
    expect(listed.items[0].messageId).toBe(messageId);
    await json(["destinations", "disable", id]);
    expect(await json(["destinations", "status", id])).toMatchObject({ state: "disabled" });
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("a test that is not delivered ends with another code", async () => {
    await using hook = await receiver(404);
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--disabled"]);
    expect(await json(["destinations", "test", id], 6)).toMatchObject({ state: "failed" });
    const { out } = await at.sluice(["destinations", "test", id], 6);
    expect(out).toMatch(/ 404 {2}\d+ ms {2}answered 404\n/);
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("a wait that runs out ends with another code", async () => {
    await at.sluice(["messages", "wait", "never", "--timeout", "50ms"], 7);
  });
});

describe("messages and deliveries for people", () => {
  it("wait for all destinations, name them, and count how they ended", async () => {
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
    // It failed for good at one: nothing is waited for.
    const { err } = await at.sluice([...wait, "20s"], 8);
    expect(err).toMatch(/→ failed Broken one: .*404/);
    expect((await at.sluice(["messages", "get", messageId])).out).toMatch(/→ failed Broken one: /);
    const listed = (await at.sluice(["messages", "list", "event:Two ways"])).out;
    expect(listed).toContain("  1/2 delivered, 1 failed\n");
    const deliveries = (await at.sluice(["deliveries", "list", "--state", "failed"])).out.split("\n");
    expect(deliveries[0]).toMatch(/^ID +DESTINATION +MESSAGE +STATE/);
    expect(deliveries[1]).toMatch(new RegExp(`^\\S+ +Broken one +${messageId} +failed`));
    const id = deliveries[1]?.split(" ")[0] ?? "";
    const retried = (await at.sluice(["deliveries", "retry", id])).out;
    expect(retried).toContain(`See the result: npx sluice deliveries get ${id}`);
    const one = ["replay", "--destination", "Well", "--message", messageId];
    expect((await at.sluice([...one, "--dry-run"])).out).toBe("1 message would be sent again\n");
    expect((await at.sluice(one)).out).toContain("1 message will be sent again\n");
    for (const name of ["Well", "Broken one"]) await at.sluice(["destinations", "delete", name, "--yes"]);
  });

  it("say that there is no such message", async () => {
    expect((await at.sluice(["messages", "get", "nope"], 5)).err).toBe("error: no message has the id nope\n");
  });
});

describe("tail", () => {
  it("shows what matches, as JSON lines, and ends when told", async () => {
    const tail = at.start(["tail", "event:Tailed Event", "--json", "--count", "2"]);
    // The stream begins now, but when it has begun nobody says: what is sent is sent until it is seen.
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

  it("begins with the last ones, for people, with nothing that their terminal would obey", async () => {
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

  it("says where a filter is wrong", async () => {
    const { err } = await at.sluice(["tail", "colour:red"], 2);
    expect(err).toContain("is no field");
  });

  it("ends quietly at Ctrl-C", async () => {
    const tail = at.start(["tail"]);
    tail.interrupt();
    expect(await tail.code).toBe(0);
  });
});

describe("listen", () => {
  it("makes its destination, verifies, prints what differs, and cleans up", async () => {
    const listen = at.start(["listen", "--port", "0", "--connect", "--count", "2"]);
    await listen.printed(/listening on/);
    await at.sluice(["send", "track", "--event", "Heard", "--properties", '{"n":1,"same":true}']);
    await listen.printed(/signed/);
    await at.sluice(["send", "track", "--event", "Heard", "--properties", '{"n":2,"same":true}']);
    expect(await listen.code).toBe(0);
    const [first, second] = listen.out().split(/(?<=\n)(?=\S+ {2}track Heard)/);
    expect(first).toContain('"same": true');
    expect(second).toContain("  - properties.n: 1\n  + properties.n: 2\n");
    expect(second).not.toContain("same");
    const { items } = await json(["destinations", "list"]);
    expect(items.filter(({ name }: { name: string }) => name.startsWith("sluice listen"))).toEqual([]);
  });

  it("checks the Standard Webhooks headers, and shows a message that comes again in one line", async () => {
    const listen = at.start(["listen", "--port", "0", "--secret", "s3cret"]);
    await listen.printed(/listening on/);
    const url = /listening on (\S+)/.exec(listen.err())?.[1] ?? "";
    const body = JSON.stringify({ type: "track", event: "Heard", messageId: "m1", properties: { n: 1 } });
    const classic = { "x-signature": sign(body, "s3cret") };
    const signedAt = (id: string, timestampMs: number) => ({
      ...classic,
      ...signStandard(body, "s3cret", { id, timestampMs }),
    });
    const post = (headers: Record<string, string>) => fetch(url, { method: "POST", headers, body });
    await post(signedAt("one", Date.now()));
    await post(signedAt("one", Date.now()));
    await post(signedAt("late", Date.now() - 3_600_000));
    await post({ ...signedAt("one", Date.now()), "webhook-id": "other" });
    await post(classic);
    await listen.printed(/( 200\b[\s\S]*){5}/);
    listen.interrupt();
    expect(await listen.code).toBe(0);
    const heads = listen
      .out()
      .split("\n")
      .filter((line) => line.includes("Heard") && !line.includes('"'));
    expect(
      heads.map((line) =>
        line
          .split(/ {2}/)
          .slice(2)
          .filter((word) => word !== ""),
      ),
    ).toEqual([
      ["signed", "200"],
      ["signed", "200", "repeated"],
      ["SIGNED MORE THAN 5 MIN OFF", "200"],
      ["WRONG SIGNATURE", "200"],
      ["signed", "200"],
    ]);
  });

  it("removes what a killed one left behind, and nothing else", async () => {
    await using alive = await receiver();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const dead = `http://127.0.0.1:${(taken.address() as AddressInfo).port}/`;
    await new Promise((resolve) => taken.close(resolve));
    const create = (name: string, url: string) =>
      json(["destinations", "create", "--disabled", "--name", name, "--webhook", url]);
    await create(`sluice listen ${dead}`, dead);
    await create(`sluice listen ${alive.url}`, alive.url);
    await create("Down for now", dead);

    const listen = at.start(["listen", "--port", "0", "--connect"]);
    await listen.printed(/listening on/);
    listen.interrupt();
    expect(await listen.code).toBe(0);
    const { items } = await json(["destinations", "list"]);
    const names = items.map(({ name }: { name: string }) => name);
    expect(names).not.toContain(`sluice listen ${dead}`);
    expect(names).toEqual(expect.arrayContaining([`sluice listen ${alive.url}`, "Down for now"]));
    for (const name of [`sluice listen ${alive.url}`, "Down for now"])
      await at.sluice(["destinations", "delete", name, "--yes"]);
  });

  it("says that the port is taken, and what to do", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { err } = await at.sluice(["listen", "--port", String(port)], 1);
    expect(err).toContain(
      `error: The address 127.0.0.1:${port} is already in use by another process\nhint: Choose another port with --port`,
    );
    expect(err).not.toContain("EADDRINUSE");
    await new Promise((resolve) => taken.close(resolve));
  });

  it("says that an address is none of this machine's", async () => {
    const { err } = await at.sluice(["listen", "--port", "0", "--host", "192.0.2.1"], 2);
    expect(err).toContain("192.0.2.1 is not an address of this machine");
  });

  it("forwards, and answers what that answers", async () => {
    await using app = await receiver(503);
    const listen = at.start([
      "listen",
      "--port",
      "0",
      "--forward",
      app.url,
      "--secret",
      "hush",
      "--count",
      "1",
      "--json",
    ]);
    await listen.printed(/listening on (\S+),/);
    const url = /listening on (\S+),/.exec(listen.err())?.[1] ?? "";
    const response = await fetch(url, {
      method: "POST",
      body: '{"type":"track"}',
      headers: { "x-signature": "0".repeat(40) },
    });
    expect(response.status).toBe(503);
    await listen.code;
    expect(app.received[0]?.body).toBe('{"type":"track"}');
    expect(JSON.parse(listen.out())).toMatchObject({ signature: "invalid", answered: 503 });
  });
});

describe("import and export", () => {
  const lines = (count: number, event: string) =>
    Array.from({ length: count }, (_, i) =>
      JSON.stringify({ type: "track", event, userId: String(i % 10), timestamp: "2020-01-01T00:00:00.000Z" }),
    );

  it("imports a file, puts what is refused beside it, and counts the same file once", async () => {
    const file = join(at.directory, "mixed.jsonl");
    await writeFile(
      file,
      [...lines(1_200, "Imported"), "nonsense", '{"type":"track","userId":"1"}', ""].join("\n"),
    );
    const first = await json(["import", file], 6);
    expect(first).toMatchObject({ accepted: 1_200, duplicates: 0, rejected: 2 });
    const rejects = (await readFile(`${file}.rejected.jsonl`, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rejects).toMatchObject([
      { line: 1_201, raw: "nonsense", issues: [{ code: "malformed_json" }] },
      { line: 1_202, issues: [{ code: "event_not_defined" }] },
    ]);
    expect(await json(["import", file], 6)).toMatchObject({ accepted: 1_200, duplicates: 1_200 });
    await expect(readFile(`${file}.sluice-import.json`)).rejects.toThrow("ENOENT");
  });

  it("tells people what is new and what was known already", async () => {
    const file = join(at.directory, "told.jsonl");
    await writeFile(file, lines(3, "Told").join("\n"));
    expect((await at.sluice(["import", file])).out).toMatch(/^imported 3 messages in /);
    expect((await at.sluice(["import", file])).out).toMatch(/^imported 0 new, 3 duplicates in /);
  });

  it("imports CSV from stdin", async () => {
    const running = at.start(
      ["import", "-", "--format", "csv", "--rejects", join(at.directory, "stdin.rejected"), "--json"],
      'type,event,userId,properties.note\ntrack,FromCsv,9,"a, ""b"""\n',
    );
    expect(await running.code).toBe(0);
    const { items } = await json(["messages", "list", "event:FromCsv"]);
    expect(items[0].message).toMatchObject({ userId: "9", properties: { note: 'a, "b"' } });
  });

  it("exports what an import takes again, with the time it happened", async () => {
    const file = join(at.directory, "out.jsonl.gz");
    await at.sluice(["export", "event:FromCsv", "-o", file]);
    expect(await json(["import", file])).toMatchObject({ accepted: 1, duplicates: 1 });
  });

  it("leaves out what is kept of a suppressed user's messages, and says how many", async () => {
    await at.sluice(["deletions", "create", "victim", "--suppress", "--yes"]);
    const { id } = (await json(["deletions", "list"])).items[0];
    while ((await json(["deletions", "get", id])).status !== "finished");
    for (const userId of ["victim", "other"])
      await at.sluice(["send", "track", "--event", "Suppressible", "--user", userId]);
    const exported = await at.sluice(["export", "type:track", "user:victim"]);
    expect(exported.out).toBe("");
    expect(exported.err).toBe(
      "1 message left out: it has no contents because its user is suppressed or deleted\n",
    );
    const file = join(at.directory, "all.jsonl");
    const all = await json(["export", "-o", file]);
    expect(all).toMatchObject({ leftOut: 1 });
    expect(await json(["import", file])).toMatchObject({ accepted: all.exported, rejected: 0 });
    const { out } = await at.sluice(["export", "user:victim", "--outcomes"]);
    expect(JSON.parse(out)).toMatchObject({ message: { userId: "victim" } });
  });

  it("refuses a table without types at once", async () => {
    const file = join(at.directory, "typeless.csv");
    await writeFile(file, "event,userId\nA,1\nB,2\n");
    const { err } = await at.sluice(["import", file], 2);
    expect(err).toContain("The CSV file has no `type` column");
    await expect(readFile(`${file}.rejected.jsonl`)).rejects.toThrow("ENOENT");
    await expect(readFile(`${file}.sluice-import.json`)).rejects.toThrow("ENOENT");
  });

  it("refuses a file that is not there", async () => {
    await at.sluice(["import", "nowhere.jsonl"], 2);
  });
});

describe("apply", () => {
  it("shows what would change, does it, and then has nothing to do", async () => {
    const file = join(at.directory, "sluice.config.json");
    const config = {
      sources: [{ name: "Declared", kind: "web" }],
      destinations: [
        {
          name: "Declared hook",
          sources: ["Declared"],
          settings: { webhooks: [{ url: "https://example.com/a" }], sharedSecret: "hush" },
        },
      ],
    };
    await writeFile(file, JSON.stringify(config));
    const planned = await json(["apply", "--dry-run"], 6);
    expect(planned.changes).toEqual([
      { action: "create", section: "sources", name: "Declared" },
      { action: "create", section: "destinations", name: "Declared hook" },
    ]);
    await at.sluice(["apply"]);
    expect((await json(["apply", "--dry-run"])).changes).toEqual([]);
    const moved = JSON.stringify(config).replace("example.com/a", "example.com/b");
    await writeFile(file, moved);
    const { out } = await at.sluice(["apply"]);
    expect(out).toContain('settings.webhooks[0].url: "https://example.com/a" → "https://example.com/b"');
    expect((await json(["destinations", "get", "Declared hook"])).settings).toMatchObject({
      sharedSecretSet: true,
    });
  });

  it("makes what others refer to first, deletes it last, and changes nothing on a dry run", async () => {
    // It deletes whatever is not declared: a collector of its own.
    await using own = await collectorForCli();
    const file = join(own.directory, "pruned.config.json");
    const first = (await own.sluice(["sources", "get", own.sourceId, "--json"])).out;
    const config = (source: string) => ({
      sources: [{ name: source }],
      destinations: [{ name: "Desk", type: "console", sources: [source] }],
      audiences: [
        {
          name: "Everybody",
          condition: { kind: "trait", trait: "plan", is: "exists" },
          destinations: ["Desk"],
        },
      ],
    });
    const apply = (...more: string[]) => ["apply", file, "--prune", ...more];
    const changed = async (args: string[], code = 0) =>
      JSON.parse((await own.sluice([...args, "--json"], code)).out).changes.map(
        ({ action, section, name }: Record<string, string>) => `${action} ${section} ${name}`,
      );
    await writeFile(file, JSON.stringify(config("Before")));
    expect(await changed(apply())).toEqual([
      "create sources Before",
      "create destinations Desk",
      "create audiences Everybody",
      `delete sources ${JSON.parse(first).name}`,
    ]);
    expect((await own.sluice(apply("--dry-run"))).out).toBe("nothing to change\n");
    expect((await own.sluice(apply())).out).toBe("nothing to change\n");

    // A new name is a new thing: what was under the old one goes, after what pointed at it was changed.
    await writeFile(file, JSON.stringify(config("After")));
    const planned = ["create sources After", "update destinations Desk", "delete sources Before"];
    expect(await changed(apply("--dry-run"), 6)).toEqual(planned);
    expect(await changed(apply("--dry-run"), 6)).toEqual(planned);
    expect(await changed(apply())).toEqual(planned);
    expect(await changed(apply("--dry-run"))).toEqual([]);

    await writeFile(
      file,
      JSON.stringify({ ...config("After"), sources: [], destinations: [], audiences: [] }),
    );
    expect(await changed(apply())).toEqual([
      "delete audiences Everybody",
      "delete destinations Desk",
      "delete sources After",
    ]);
  });

  it("refuses what refers to nothing, before it has changed anything", async () => {
    const file = join(at.directory, "dangling.config.json");
    const destinations = [{ name: "Dangling", type: "console", sources: ["Nowhere"] }];
    await writeFile(file, JSON.stringify({ sources: [{ name: "Never made" }], destinations }));
    for (const more of [["--dry-run"], []]) {
      const { err } = await at.sluice(["apply", file, ...more], 2);
      expect(err).toContain("destinations: Dangling refers to the source Nowhere, which does not exist");
    }
    const { items } = await json(["sources", "list"]);
    expect(items.map(({ name }: { name: string }) => name)).not.toContain("Never made");
  });

  it("takes a TypeScript file", async () => {
    const file = join(at.directory, "other.config.ts");
    await writeFile(file, 'const name: string = "Declared";\nexport default { sources: [{ name }] };\n');
    expect((await json(["apply", file, "--dry-run"])).changes).toEqual([]);
  });
});

describe("doctor", () => {
  const results = (checks: { name: string; result: string }[]) =>
    Object.fromEntries(checks.map(({ name, result }) => [name, result]));

  it("finds nothing wrong with a collector that is well", async () => {
    const { checks } = await json(["doctor"]);
    expect(results(checks)).toMatchObject({
      address: "ok",
      token: "ok",
      clock: "ok",
      "write key": "ok",
      disk: "ok",
    });
  });

  it("finds a wrong token, a wrong key, and a closed port", async () => {
    const { checks } = await json(["doctor", "--token", "wrong", "--write-key", "wrong"], 6);
    expect(results(checks)).toMatchObject({ token: "problem", "write key": "problem" });
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const { out } = await at.sluice(["doctor", "--url", `http://127.0.0.1:${port}`], 6);
    expect(out).toContain("ECONNREFUSED");
  });
});

describe("tokens and audit", () => {
  it("makes a read token, which may not write, and revokes it", async () => {
    const { id, token } = await json(["tokens", "create", "wall", "--access", "read"]);
    await at.sluice(["sources", "list", "--token", token]);
    await at.sluice(["sources", "create", "x", "--token", token], 4);
    const unsure = await at.sluice(["tokens", "revoke", "wall"], 2);
    expect(unsure.err).toContain("Add --yes to confirm");
    const kept = cli(["tokens", "revoke", "wall"], { env: at.env, stdin: "n\n", canAsk: true });
    expect(await kept.code).toBe(1);
    expect(kept.err()).toMatch(/Revoke the token wall .*\[y\/N\] Nothing was revoked\.\n$/);
    await at.sluice(["sources", "list", "--token", token]);
    await at.sluice(["tokens", "revoke", "wall", "--yes"]);
    await at.sluice(["sources", "list", "--token", token], 4);
    const { items } = await json(["audit", "-n", "1"]);
    expect(items).toMatchObject([{ action: "tokens.revoke", target: id }]);
  });
});

describe("the command line itself", () => {
  it("says that nothing answers, and what to do", async () => {
    const running = cli(["sources", "list", "--url", "http://127.0.0.1:1", "--token", "t"]);
    expect(await running.code).toBe(3);
    expect(running.err()).toContain("Start one with `npx sluice dev`");
  });

  it("shows examples as they are typed", async () => {
    expect((await at.sluice(["destinations", "--help"])).out).toContain(
      "  $ npx sluice destinations test Webhooks\n",
    );
  });

  it("asks for a token where it finds none", async () => {
    const running = cli(["sources", "list"], { cwd: at.directory.replace(/[^/]+$/, "") });
    expect(await running.code).toBe(4);
  });

  it("prints errors as JSON where JSON is asked for", async () => {
    const running = cli(["sources", "get", "none", "--json"], { env: at.env });
    expect(await running.code).toBe(5);
    expect(JSON.parse(running.err())).toMatchObject({ error: { code: "notFound" } });
  });

  it("finds the sluice dev of the folder by itself", async () => {
    const running = cli(["sources", "list", "--url", at.url], { cwd: at.directory });
    expect(await running.code).toBe(0);
  });
});
