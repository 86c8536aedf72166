import { appendFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { consoleDestination } from "../../src/destinations/console/console.js";
import { definedType } from "../../src/destinations/defined/defined-type.js";
import type { Round } from "../../src/destinations/destination.js";
import { fileDestination } from "../../src/destinations/file/file.js";
import { openRotatingFile } from "../../src/destinations/file/rotating-file.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-file-"));
});
afterEach(() => rm(folder, { recursive: true }));

const DEPS = {
  clock: systemClock,
  secrets: secretBox(new Uint8Array(32)),
  egress: egressPolicy(),
  resolve: async () => [],
  log: () => {},
};

const message = (messageId: string, event = "Ordered") => ({
  messageId,
  sourceId: "src_1",
  timestamp: "2026-01-01T00:00:00.000Z",
  offset: 1,
  receivedAtMs: 0,
  message: { type: "track", event, userId: "u1", messageId } as const,
});
const round: Round = {
  number: 1,
  isAgain: false,
  numberAt: () => 1,
  isLast: false,
  waitingUrls: [],
  doneUrls: [],
  failedUrls: [],
  record: () => {},
  repeat: () => {},
  gone: () => {},
};

describe("a file destination", () => {
  it("writes one line of JSON per message, synced before it reports delivery", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    const settings = await type.parseSettings({ fileName: "out.jsonl" }, undefined);
    if (!settings.ok) throw new Error("refused");
    const destination = await type.open(settings.settings);
    const outcomes = await Promise.all(
      ["m1", "m2", "m3"].map((id) => destination.deliver(message(id), round)),
    );
    expect(outcomes).toEqual(Array(3).fill({ kind: "delivered", reason: "written" }));
    const lines = (await readFile(join(folder, "out.jsonl"), "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).messageId)).toEqual(["m1", "m2", "m3"]);
    await destination.close();
  });

  it("writes only into its folder", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    for (const fileName of ["../x", "/etc/x", "a/b", ".hidden", "", "a\0b", "a".repeat(200)]) {
      expect(await type.parseSettings({ fileName }, undefined)).toMatchObject({
        ok: false,
        issues: [{ path: "settings.fileName" }],
      });
    }
  });

  it("refuses the name of a rotated file, whichever destination rotates it", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    for (const fileName of ["x.jsonl.1", "x.12", "a.1.2"])
      expect(await type.parseSettings({ fileName }, undefined)).toMatchObject({
        ok: false,
        issues: [
          { path: "settings.fileName", message: expect.stringContaining("rotated files are named so") },
        ],
      });
    expect(await type.parseSettings({ fileName: "x.1.jsonl" }, undefined)).toMatchObject({ ok: true });
  });

  it("keeps a stored name that is refused by now, unless it is set again", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    const stored = { fileName: "x.jsonl.1", maxBytes: 100_000, maxFiles: 10 };
    expect(await type.parseSettings({ maxFiles: 3 }, stored)).toEqual({
      ok: true,
      settings: { ...stored, maxFiles: 3 },
    });
    expect(await type.parseSettings({ fileName: "x.jsonl.1" }, stored)).toMatchObject({ ok: false });
  });

  it("shares its file with other destinations of the same name, and a rotation loses no line", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    const settings = { fileName: "out.jsonl", maxBytes: 2_000, maxFiles: 100 };
    const destinations = await Promise.all([type.open(settings), type.open(settings)]);
    const ids = Array.from({ length: 60 }, (_, i) => `m${i}`);
    for (const [i, id] of ids.entries()) await destinations[i % 2]?.deliver(message(id), round);
    await destinations[0]?.close();
    expect(await destinations[0]?.deliver(message("late"), round)).toMatchObject({ kind: "retry" });
    await destinations[1]?.deliver(message("last"), round);
    await destinations[1]?.close();
    const files = await readdir(folder);
    expect(files.length).toBeGreaterThan(2);
    let lines = 0;
    for (const file of files) {
      const text = await readFile(join(folder, file), "utf8");
      expect(text.length).toBeLessThanOrEqual(2_000);
      expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
      lines += text.trimEnd().split("\n").length;
    }
    expect(lines).toBe(ids.length + 1);
    const again = await type.open(settings);
    expect(await again.deliver(message("again"), round)).toMatchObject({ kind: "delivered" });
    await again.close();
  });

  it("returns a retryable failure if the file cannot be written", async () => {
    const type = definedType(fileDestination(folder), DEPS);
    const destination = await type.open({ fileName: "out.jsonl", maxBytes: 1e6, maxFiles: 1 });
    await destination.close();
    expect(await destination.deliver(message("m1"), round)).toMatchObject({
      kind: "retry",
      reason: "write_failed: the file is closed",
    });
  });
});

describe("a rotating file", () => {
  it("rotates a full file, keeps `maxFiles` of them, and never splits a line", async () => {
    const path = join(folder, "a.jsonl");
    const file = await openRotatingFile({ path, maxBytes: 100, maxFiles: 2 });
    for (let n = 0; n < 20; n++) await file.append(`${String(n).padStart(29, "0")}\n`);
    await file.close();
    expect((await readdir(folder)).sort()).toEqual(["a.jsonl", "a.jsonl.1", "a.jsonl.2"]);
    const numbers = async (name: string) =>
      (await readFile(join(folder, name), "utf8")).trimEnd().split("\n").map(Number);
    expect([await numbers("a.jsonl.2"), await numbers("a.jsonl.1"), await numbers("a.jsonl")]).toEqual([
      [12, 13, 14],
      [15, 16, 17],
      [18, 19],
    ]);
  });

  it("starts a new line after a line that a crash cut short", async () => {
    const path = join(folder, "a.jsonl");
    await appendFile(path, '{"cut":');
    const file = await openRotatingFile({ path, maxBytes: 1_000, maxFiles: 1 });
    await file.append('{"whole":1}\n');
    await file.close();
    expect((await readFile(path, "utf8")).split("\n")).toEqual(['{"cut":', '{"whole":1}', ""]);
  });
});

describe("a console destination", () => {
  it("prints one line without terminal control characters", async () => {
    const lines: string[] = [];
    const type = definedType(
      consoleDestination((line) => lines.push(line)),
      DEPS,
    );
    const destination = await type.open({});
    await destination.deliver(message("m1", "\u001b[2J\u009b31m\u202egnp.exe\nx"), round);
    expect(lines).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that there are none.
    expect(lines[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(JSON.parse(lines[0] ?? "").event).toBe("\u001b[2J\u009b31m\u202egnp.exe\nx");
    await destination.close();
  });

  it("has no settings", async () => {
    const type = definedType(
      consoleDestination(() => {}),
      DEPS,
    );
    expect(await type.parseSettings({ color: true }, undefined)).toMatchObject({ ok: false });
  });
});
