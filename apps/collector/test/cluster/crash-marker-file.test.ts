import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CRASH_MARKER, crashMarkerFile } from "../../src/cluster/lead.js";

const MARKER = { from: 3 as never, to: 5 as never, begun: 1 };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-marker-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a process finds what the one before it was about to count, until that is counted", () => {
  const file = join(folder, CRASH_MARKER);
  expect(crashMarkerFile(file).load()).toBeUndefined();
  crashMarkerFile(file).save(MARKER);
  crashMarkerFile(file).save({ ...MARKER, begun: 2 });
  expect(crashMarkerFile(file).load()).toEqual({ ...MARKER, begun: 2 });
  crashMarkerFile(file).save(undefined);
  crashMarkerFile(file).save(undefined);
  expect([crashMarkerFile(file).load(), readdirSync(folder)]).toEqual([undefined, []]);
});

test("a file that was not written to its end says nothing, and one that cannot be written is a failure of the disk", () => {
  const file = join(folder, CRASH_MARKER);
  writeFileSync(file, '{"from":3');
  expect(crashMarkerFile(file).load()).toBeUndefined();
  const nowhere = crashMarkerFile(join(folder, "gone", CRASH_MARKER));
  expect(() => nowhere.save(MARKER)).toThrow(/counting\.json cannot be written: ENOENT/);
  expect(() => nowhere.save(MARKER)).toThrow(expect.objectContaining({ code: "storage_unavailable" }));
});
