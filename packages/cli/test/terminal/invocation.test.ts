import { describe, expect, it } from "vitest";
import { asStarted, invocationOf } from "../../src/terminal/io.js";
import { wrapLines } from "../../src/terminal/terminal-text.js";
import { cli } from "../support/cli.js";

const links: { readonly [path: string]: string } = {
  "/usr/bin/sluice": "/lib/sluice/bin/sluice.cjs",
  "/lib/sluice/bin/sluice.cjs": "/lib/sluice/bin/sluice.cjs",
  "/other/sluice": "/other/lib/sluice.cjs",
  "/a folder/sluice": "/a folder/sluice",
};
const realPath = (path: string): string => {
  const found = links[path];
  if (found === undefined) throw new Error("ENOENT");
  return found;
};

it.each<[string, Parameters<typeof invocationOf>[0]["env"], string | undefined, string]>([
  ["a global installation", { PATH: "/bin:/usr/bin" }, "/usr/bin/sluice", "sluice"],
  [
    "another sluice that comes first",
    { PATH: "/other:/usr/bin" },
    "/usr/bin/sluice",
    "node /lib/sluice/bin/sluice.cjs",
  ],
  [
    "npx",
    { PATH: "/usr/bin", npm_command: "exec", npm_config_user_agent: "npm/11" },
    "/usr/bin/sluice",
    "npx sluice",
  ],
  [
    "npm start in a clone",
    { PATH: "/bin", npm_lifecycle_event: "start" },
    "/c/scripts/start.mjs",
    "npx sluice",
  ],
  ["pnpm", { npm_command: "run-script", npm_config_user_agent: "pnpm/9" }, undefined, "pnpm exec sluice"],
  ["yarn", { npm_lifecycle_event: "x", npm_config_user_agent: "yarn/4" }, undefined, "yarn sluice"],
  ["bun", { npm_config_user_agent: "bun/1.2" }, undefined, "bunx sluice"],
  [
    "node with the script's path",
    { PATH: "/bin" },
    "/lib/sluice/bin/sluice.cjs",
    "node /lib/sluice/bin/sluice.cjs",
  ],
  ["nothing known", {}, undefined, "npx sluice"],
])("started by %s", (_name, env, script, expected) => {
  expect(invocationOf({ env, script, realPath })).toBe(expected);
});

it.each<[string, Parameters<typeof invocationOf>[0]["env"], string, string]>([
  ["its path", { PATH: "/usr/bin" }, "/other/sluice", "/other/lib/sluice.cjs"],
  ["its name", { PATH: "/other:/usr/bin" }, "/other/sluice", "sluice"],
  ["a script of npm", { npm_lifecycle_event: "start" }, "/other/sluice", "/other/lib/sluice.cjs"],
  ["a path with a blank", {}, "/a folder/sluice", "'/a folder/sluice'"],
])("the single executable, started by %s", (_name, env, executable, expected) => {
  expect(invocationOf({ env, script: executable, executable, realPath })).toBe(expected);
});

it("says commands as they were started, except in the body of a shell function", () => {
  const text = 'run `npx sluice dev`; sluice() { npx sluice "$@"; }';
  expect(asStarted(text, { invocation: "sluice" })).toBe('run `sluice dev`; sluice() { npx sluice "$@"; }');
  expect(asStarted("npx sluice", { invocation: "$& sluice" })).toBe("$& sluice");
});

it.each([
  ["short", "short"],
  ["  one two three four", "  one two\n  three four"],
  ["a-word-that-is-too-long x", "a-word-that-is-too-long\nx"],
  ["  $ a command that is copied whole", "  $ a command that is copied whole"],
  ["", ""],
])("wraps %j", (text, expected) => {
  expect(wrapLines(text, 12)).toBe(expected);
});

describe("help", () => {
  it.each(
    [["--help"], ["import", "--help"], ["messages", "list", "--help"], ["tail", "--help"]].map((args) => [
      args,
    ]),
  )("%j fits the terminal, and names commands as they were started", async (args) => {
    const run = cli(args, { columns: 72, invocation: "sluice" });
    expect(await run.code).toBe(0);
    const wide = run
      .out()
      .split("\n")
      .filter((line) => line.length > 72 && !line.startsWith("  $ "));
    expect(wide).toEqual([]);
    expect(run.out()).not.toContain("npx");
    expect(run.out()).not.toMatch(/2026-/);
  });

  it("does not repeat a summary as the comment of an example", async () => {
    const run = cli(["messages", "list", "--help"]);
    await run.code;
    expect(run.out().match(/list stored messages, newest first/g)).toHaveLength(1);
  });
});

describe("a wrong command line", () => {
  it.each<[string[], string, string]>([
    [
      ["messages", "list", "--nope"],
      "Unknown option '--nope'",
      "Run `sluice messages list --help` to see the arguments and options",
    ],
    [["messages", "nope"], "Unknown command 'nope'", "Run `sluice messages --help` to see the commands"],
    [["nope"], "Unknown command 'nope'", "Run `sluice --help` to see the commands"],
    [
      ["import"],
      "Missing required argument 'file'",
      "Run `sluice import --help` to see the arguments and options",
    ],
  ])("%j is an error like any other, as text and as JSON", async (args, message, hint) => {
    const text = cli(args, { invocation: "sluice" });
    expect(await text.code).toBe(2);
    expect(text.err()).toContain(`error: ${message}`);
    expect(text.err()).toContain(`hint: ${hint}`);
    expect(text.err()).not.toContain("error: error:");
    const json = cli([...args, "--json"], { invocation: "sluice" });
    expect(await json.code).toBe(2);
    const lines = json.err().trim().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
      error: { code: "usage", hint: expect.any(String) },
    });
  });
});
