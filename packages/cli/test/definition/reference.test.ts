import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { EXIT_CODES } from "../../src/failures.js";
import { program } from "../../src/program.js";
import type { Io } from "../../src/terminal/io.js";
import { PLAIN } from "../../src/terminal/style.js";

const io: Io = {
  async out() {},
  async outBytes() {},
  err() {},
  stdin: Readable.from([]),
  env: {},
  cwd: "/",
  invocation: "npx sluice",
  style: PLAIN,
  errStyle: PLAIN,
  isErrTerminal: false,
  canAsk: false,
  columns: 100,
  tableColumns: 100,
  now: () => 0,
  monotonic: () => 0,
  interrupted: new AbortController().signal,
};

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

describe("the reference of the command line", () => {
  const page = readFileSync(new URL("../../../../docs/reference/cli.md", import.meta.url), "utf8");

  it("lists every exit code", () => {
    const [, section = ""] = page.split("## Exit codes");
    const rows = [...section.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, meaning]) => [
      Number(code),
      meaning,
    ]);
    expect(rows).toEqual(Object.values(EXIT_CODES).map(({ code, meaning }) => [code, meaning]));
  });

  it("names every code of an error that is an exit code", () => {
    const [, section = ""] = page.split("## Errors");
    for (const name of Object.keys(EXIT_CODES).filter((name) => name !== "ok"))
      expect(section).toContain(`\`${name}\``);
  });
});

describe("every command", () => {
  const commands = leaves(program(io)).map((command) => [command.name(), command] as const);

  it.each(commands)("%s has --json and describes its options", (_name, command) => {
    expect(command.options.map(({ long }) => long)).toContain("--json");
    for (const { description } of command.options) expect(description).not.toBe("");
    expect(command.description()).toMatch(/^[a-z].*[^.]$/s);
  });

  it.each(
    [...program(io).commands, ...leaves(program(io))].map((command) => [pathOf(command), command] as const),
  )("%s has examples that use its own options", (path, command) => {
    let help = "";
    command.configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    command.outputHelp();
    const lines = [...help.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line]) => line ?? "");
    const own = lines.filter((line) => line.includes(`npx ${path}`));
    expect(own).not.toEqual([]);
    if (command.commands.length > 0) return;
    const known = command.options.map(({ long }) => long);
    for (const line of own)
      for (const [, option = ""] of line.matchAll(/ (--[a-z-]+)/g)) expect(known, line).toContain(option);
  });
});

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
