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
