import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../src/main.mjs", import.meta.url));

function demo(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, out, err })));
}

it.each([
  ["loses and changes nothing", []],
  ["loses and changes nothing when the collector is killed halfway", ["--kill"]],
])("the demo %s", async (_name, args) => {
  const { code, out, err } = await demo(...args);
  expect(out + err).toContain("Nothing was lost, nothing was changed.");
  expect(out).toMatch(/^sent +934$/m);
  expect(out).toMatch(/^verified +934$/m);
  expect(out).toMatch(/^lost +0$/m);
  if (args.length === 0)
    expect(out).toMatch(/at 100 messages a second for 5 s \(500 of 500 received\)[\s\S]*p99 +\d+\.\d ms/);
  if (args.length > 0) expect(err).toContain("killed with");
  expect(code).toBe(0);
});
