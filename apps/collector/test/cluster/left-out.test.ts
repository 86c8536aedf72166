import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LEFT_OUT } from "./left-out.js";

it("names files that exist, each test once, with a reason", () => {
  const folder = join(import.meta.dirname, "..");
  expect(LEFT_OUT.filter(({ file }) => !existsSync(join(folder, file)))).toEqual([]);
  expect(LEFT_OUT.filter(({ reason }) => reason.length < 20)).toEqual([]);
  const whole = new Set(LEFT_OUT.filter(({ test }) => test === undefined).map(({ file }) => file));
  expect(LEFT_OUT.filter(({ file, test }) => test !== undefined && whole.has(file))).toEqual([]);
  const names = LEFT_OUT.map(({ file, test = "" }) => `${file} ${test}`);
  expect(names).toEqual([...new Set(names)]);
});
