import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { cliReference } from "../../src/definition/reference.js";
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
  now: () => 0,
  monotonic: () => 0,
  interrupted: new AbortController().signal,
};

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

describe("the reference of the command line", () => {
  // Update it with `npx vitest run --config vitest.workspace.ts --project packages/cli -u`.
  it("is generated from the commands", async () => {
    const page = fileURLToPath(new URL("../../../../docs/reference/cli.md", import.meta.url));
    await expect(cliReference(program(io))).toMatchFileSnapshot(page);
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
