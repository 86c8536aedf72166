import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

describe("apply", () => {
  it("shows the changes, makes them, and then has nothing to change", async () => {
    const file = join(at.directory, "sluice.config.json");
    const config = {
      sources: [{ name: "Declared", kind: "web" }],
      destinations: [
        {
          name: "Declared hook",
          sources: ["Declared", "sluice"],
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

  it("creates items before those that refer to them, deletes them after, and changes nothing on a dry run", async () => {
    // It deletes everything that is not declared, so it needs its own collector.
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

    // A new name is a new item. The old one is deleted after items that refer to it were changed.
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

  it("refuses a reference to a missing item before it changes anything", async () => {
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

  it("reads a TypeScript file", async () => {
    const file = join(at.directory, "other.config.ts");
    await writeFile(file, 'const name: string = "Declared";\nexport default { sources: [{ name }] };\n');
    expect((await json(["apply", file, "--dry-run"])).changes).toEqual([]);
  });

  it("saves the code of transformations, and attaches and detaches them", async () => {
    const file = join(at.directory, "changed.config.json");
    const code = "export default (message) => message;\n";
    await writeFile(join(at.directory, "keep.ts"), code);
    const config = (transformation: string | null, secrets: object) => ({
      transformations: [{ name: "Keep", file: "keep.ts", secrets }],
      sources: [{ name: "Kept", transformation }],
      destinations: [{ name: "Kept desk", type: "console", transformation }],
    });
    const apply = async (contents: object, ...more: string[]) => {
      await writeFile(file, JSON.stringify(contents));
      return json(["apply", file, ...more]);
    };
    expect((await apply(config("Keep", { KEY: "hush-hush" }))).changes).toEqual([
      { action: "create", section: "transformations", name: "Keep" },
      { action: "create", section: "sources", name: "Kept" },
      { action: "create", section: "destinations", name: "Kept desk" },
    ]);
    expect((await apply(config("Keep", { KEY: "other" }))).changes).toEqual([]);
    expect((await at.sluice(["destinations", "get", "Kept desk"])).out).toContain("transformation: Keep");

    await writeFile(join(at.directory, "keep.ts"), `${code}// more\n`);
    const { out } = await at.sluice(["apply", file]);
    expect(out).toContain('code: "version 1" → "keep.ts"');
    const moved = await apply(config(null, { NEW: "whisper" }), "--set-secrets");
    expect(JSON.stringify(moved)).not.toContain("whisper");
    expect(moved.changes).toMatchObject([
      { section: "transformations", differences: [{ path: "secrets.NEW" }, { path: "secrets.KEY" }] },
      { section: "sources", name: "Kept" },
      { section: "destinations", name: "Kept desk" },
    ]);
    const kept = await json(["transformations", "get", "Keep"]);
    expect(kept).toMatchObject({ current: 2, secretNames: ["NEW"], destinationIds: [], sourceIds: [] });
    expect((await apply(config(null, { NEW: "whisper" }))).changes).toEqual([]);
    const { err } = await at.sluice(["apply", file, "--dry-run", "--prune"], 6);
    expect(err).toContain("would be made");
  });
});
