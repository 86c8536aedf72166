import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli } from "../support/cli.js";

const SAME = "export default function transform(message) {\n\treturn message;\n}\n";
const NONE = "export default () => null;\n";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
  await writeFile(join(at.directory, "same.ts"), SAME);
  await writeFile(join(at.directory, "none.js"), NONE);
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (...args: string[]) => JSON.parse((await at.sluice([...args, "--json"])).out);

describe("transformations", () => {
  it("saves versions of a file and goes back to an earlier one", async () => {
    const made = await json("transformations", "create", "Mask", "--file", "same.ts");
    expect(made).toMatchObject({ name: "Mask", code: SAME, language: "typescript", current: 1 });
    const saved = await json("transformations", "update", "Mask", "--file", "none.js");
    expect(saved).toMatchObject({ code: NONE, language: "javascript", current: 2 });
    expect((await at.sluice(["transformations", "versions", "Mask"])).out).toMatch(
      /VERSION +IN FORCE +LANGUAGE .*\n2 +yes +javascript .*\n1 +no +typescript/,
    );
    expect(await json("transformations", "restore", "Mask", "1")).toMatchObject({ code: SAME, current: 1 });
    const { err } = await at.sluice(["transformations", "restore", "Mask", "3"], 2);
    expect(err).toContain("there is no version 3");
  });

  it("prints the code as it was saved", async () => {
    await json("transformations", "create", "Shown", "--file", "same.ts");
    expect((await at.sluice(["transformations", "get", "Shown", "--code"])).out).toBe(SAME);
    const { out } = await at.sluice(["transformations", "get", "Shown"]);
    expect(out).toMatch(/^id: tr_.*\nname: Shown\n/);
    expect(out.endsWith(`\n\n${SAME}`)).toBe(true);
  });

  it("attaches it to destinations and sources by its name", async () => {
    await json("transformations", "create", "Worn", "--file", "same.ts");
    await json("destinations", "create", "--type", "console", "--name", "Desk", "--transformation", "Worn");
    await json("sources", "update", at.sourceId, "--transformation", "Worn");
    const { out, err } = await at.sluice(["destinations", "get", "Desk"]);
    expect(out, err).toContain("transformation: Worn");
    expect((await at.sluice(["transformations", "list"])).out).toMatch(/^Worn +1 +typescript +Desk +/m);
    const refused = await at.sluice(["transformations", "delete", "Worn", "--yes"], 1);
    expect(refused.err).toContain("Worn is attached to the destination Desk");
    await json("destinations", "update", "Desk", "--no-transformation");
    await json("sources", "update", at.sourceId, "--no-transformation");
    await at.sluice(["transformations", "delete", "Worn", "--yes"]);
    const { err: unknown } = await at.sluice(
      ["destinations", "update", "Desk", "--transformation", "Worn"],
      5,
    );
    expect(unknown).toContain("There is no transformation Worn");
  });

  it("takes secrets from the environment or asks for them, and never shows them", async () => {
    const run = async (args: string[], options: { env?: object; stdin?: string; canAsk?: boolean }) => {
      const running = cli(["transformations", ...args, "--json"], {
        cwd: at.directory,
        ...options,
        env: { ...at.env, ...options.env },
      });
      return { code: await running.code, text: running.out() + running.err() };
    };
    const create = ["create", "Sealed", "--file", "same.ts", "--secret", "HASH_KEY"];
    expect((await run(create, {})).text).toContain("The secret HASH_KEY has no value");
    const made = await run(create, { env: { HASH_KEY: "hush-hush" } });
    const update = ["update", "Sealed", "--secret", "OTHER", "--remove-secret", "HASH_KEY"];
    const asked = await run(update, { canAsk: true, stdin: "whisper\n" });
    expect([made.code, asked.code]).toEqual([0, 0]);
    expect(made.text + asked.text).not.toMatch(/hush|whisper/);
    expect((await json("transformations", "get", "Sealed")).secretNames).toEqual(["OTHER"]);
  });

  it("says which file cannot be read", async () => {
    const { err } = await at.sluice(["transformations", "create", "Lost", "--file", "lost.ts"], 2);
    expect(err).toContain("lost.ts cannot be read");
  });
});

/** Renames "Old", drops "Bot", fails on "Bad". */
const CODE = `export default function transform(message, { log }) {
  if (message.event === "Old") return { ...message, event: "New", kept: true };
  if (message.event === "Bot") return null;
  if (message.event === "Bad") return message.properties.plan.name;
  log.warn("seen\\u0007");
  return message;
}
`;

describe("trying code", () => {
  beforeAll(async () => {
    await writeFile(join(at.directory, "rename.ts"), CODE);
    for (const event of ["Same", "Old", "Bot", "Bad"])
      await at.sluice(["send", "track", "--event", event, "--message-id", `m-${event}`]);
  });
  const test = (...args: string[]) => ["transformations", "test", "--file", "rename.ts", ...args];

  it("shows the differences, what was logged, and where it failed", async () => {
    const { out, err } = await at.sluice(test("--from", "m-Same", "m-Old", "m-Bot", "m-Bad"), 6);
    expect(out).toBe(
      [
        "m-Same  same",
        "  warn: seen\\u0007",
        "",
        "m-Old  changed",
        '  ~ event: "Old" → "New"',
        "  + kept: true",
        "",
        "m-Bot  dropped",
        "",
        "m-Bad  failed",
        "  rename.ts:4:57: TypeError: cannot read property 'plan' of undefined",
        '        if (message.event === "Bad") return message.properties.plan.name;',
        `${" ".repeat(62)}^`,
        "",
        "4 messages: 1 same, 1 changed, 1 dropped, 1 failed",
        "",
      ].join("\n"),
    );
    expect(err).toContain("It failed on 1 of 4 messages");
  });

  it("takes the newest messages, files and stdin", async () => {
    await writeFile(join(at.directory, "one.json"), JSON.stringify({ messageId: "mine", event: "Old" }));
    const ids = async (...args: string[]) =>
      JSON.parse((await at.sluice([...test(...args), "--json"])).out).results.map(
        (one: { messageId: string }) => one.messageId,
      );
    expect(await ids("--message", "one.json")).toEqual(["mine"]);
    expect(await ids("--from", "m-Old", "--message", "one.json")).toEqual(["mine", "m-Old"]);
    expect((await at.sluice(test("--newest", "1"), 6)).out).toContain("m-Bad  failed");
    const running = at.start(test("--message", "-"), '[{ "event": "Bot" }, { "event": "Old" }]');
    expect(await running.code).toBe(0);
    expect(running.out()).toContain("2 messages: 1 changed, 1 dropped");
    const { err } = await at.sluice(test("--message", "rename.ts"), 2);
    expect(err).toContain("rename.ts is not valid JSON");
  });

  it("shows each of several results", async () => {
    await writeFile(join(at.directory, "two.js"), 'export default (m) => [m, { ...m, event: "Also" }];');
    const { out } = await at.sluice(["transformations", "test", "--file", "two.js", "--from", "m-Same"]);
    expect(out).toContain("m-Same  changed into 2 messages\n  m-Same.1\n");
    expect(out).toContain('    ~ event: "Same" → "Also"');
  });

  it("says where code cannot run at all, and which transformation is needed", async () => {
    await writeFile(join(at.directory, "broken.ts"), "export default function (m) {\n  return m +;\n}\n");
    for (const command of ["test", "dry-run"]) {
      const { err } = await at.sluice(["transformations", command, "--file", "broken.ts"], 2);
      expect(err).toMatch(/^broken\.ts:2:\d+: .*\n {6}return m \+;\n/m);
      expect(err).toContain("The code cannot run: correct broken.ts:2");
    }
    const create = ["transformations", "create", "Broken", "--file", "broken.ts"];
    expect((await at.sluice(create, 2)).err).toMatch(/code: line 2, column \d+: /);
    expect((await at.sluice(["transformations", "test"], 2)).err).toContain("Give --file");
  });

  it("counts what it would do with the newest messages", async () => {
    await json("transformations", "create", "Counted", "--file", "rename.ts");
    const { out } = await at.sluice(["transformations", "dry-run", "Counted", "--messages", "100"], 6);
    expect(out).toMatch(/^4 messages in \d+\.\d s: 1 same, 1 changed, 1 dropped, 1 failed\n/);
    expect(out).toContain("1 failed, such as m-Bad\nCounted:4:");
    expect(out).toContain('m-Old  changed\n  ~ event: "Old" → "New"');
    const desk = ["destinations", "create", "--type", "console", "--name", "Counting"];
    await at.sluice([...desk, "--filters", '[{"events":["Bad"],"action":{"kind":"drop"}}]']);
    const counted = await json("transformations", "dry-run", "Counted", "--destination", "Counting");
    expect(counted).toMatchObject({ messages: 3, failed: 0 });
  });
});
