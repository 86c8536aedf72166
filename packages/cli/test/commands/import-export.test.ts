import { readFile, writeFile } from "node:fs/promises";
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

describe("import and export", () => {
  const lines = (count: number, event: string) =>
    Array.from({ length: count }, (_, i) =>
      JSON.stringify({ type: "track", event, userId: String(i % 10), timestamp: "2020-01-01T00:00:00.000Z" }),
    );

  it("imports a file, writes a reject file, and counts the same file once", async () => {
    const file = join(at.directory, "mixed.jsonl");
    await writeFile(
      file,
      [...lines(1_200, "Imported"), "nonsense", '{"type":"track","userId":"1"}', ""].join("\n"),
    );
    const first = await json(["import", file, "--deliver"], 6);
    expect(first).toMatchObject({ accepted: 1_200, duplicates: 0, rejected: 2 });
    const rejects = (await readFile(`${file}.rejected.jsonl`, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rejects).toMatchObject([
      { line: 1_201, raw: "nonsense", issues: [{ code: "malformed_json" }] },
      { line: 1_202, issues: [{ code: "event_not_defined" }] },
    ]);
    expect(await json(["import", file, "--deliver"], 6)).toMatchObject({
      accepted: 1_200,
      duplicates: 1_200,
    });
    await expect(readFile(`${file}.sluice-import.json`)).rejects.toThrow("ENOENT");
  });

  it("prints how many messages are new and how many are duplicates", async () => {
    const file = join(at.directory, "told.jsonl");
    await writeFile(file, lines(3, "Told").join("\n"));
    expect((await at.sluice(["import", file, "--deliver"])).out).toMatch(
      /^imported 3 messages in .*; no destination gets them\n$/,
    );
    expect((await at.sluice(["import", file, "--deliver"])).out).toMatch(/^imported 0 new, 3 duplicates in /);
  });

  it("imports CSV from stdin", async () => {
    const running = at.start(
      [
        "import",
        "-",
        "--no-deliver",
        "--format",
        "csv",
        "--rejects",
        join(at.directory, "stdin.rejected"),
        "--json",
      ],
      'type,event,userId,properties.note\ntrack,FromCsv,9,"a, ""b"""\n',
    );
    expect(await running.code).toBe(0);
    const { items } = await json(["messages", "list", "event:FromCsv"]);
    expect(items[0].message).toMatchObject({ userId: "9", properties: { note: 'a, "b"' } });
  });

  it("exports messages that can be imported again, with their times", async () => {
    const file = join(at.directory, "out.jsonl.gz");
    await at.sluice(["export", "event:FromCsv", "-o", file]);
    expect(await json(["import", file, "--deliver"])).toMatchObject({ accepted: 1, duplicates: 1 });
  });

  it("leaves out messages of suppressed users, and says how many", async () => {
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
    expect(await json(["import", file, "--deliver"])).toMatchObject({ accepted: all.exported, rejected: 0 });
    const { out } = await at.sluice(["export", "user:victim", "--outcomes"]);
    expect(JSON.parse(out)).toMatchObject({ message: { userId: "victim" } });
  });

  it("refuses a table without a type column at once", async () => {
    const file = join(at.directory, "typeless.csv");
    await writeFile(file, "event,userId\nA,1\nB,2\n");
    const { err } = await at.sluice(["import", file, "--deliver"], 2);
    expect(err).toContain("The CSV file has no `type` column");
    await expect(readFile(`${file}.rejected.jsonl`)).rejects.toThrow("ENOENT");
    await expect(readFile(`${file}.sluice-import.json`)).rejects.toThrow("ENOENT");
  });

  it("refuses a missing file", async () => {
    await at.sluice(["import", "nowhere.jsonl", "--deliver"], 2);
  });
});
