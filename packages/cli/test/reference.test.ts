import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import type { Io } from "../src/io.js";
import { program } from "../src/program.js";
import { cliReference } from "../src/reference.js";
import { PLAIN } from "../src/style.js";

const io: Io = {
  async out() {},
  err() {},
  stdin: Readable.from([]),
  env: {},
  cwd: "/",
  style: PLAIN,
  errStyle: PLAIN,
  isWatched: false,
  columns: 100,
  now: () => 0,
  interrupted: new AbortController().signal,
};

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

describe("the reference of the command line", () => {
  // After a change: `npx vitest run --config vitest.workspace.ts --project packages/cli -u`.
  it("is what the commands say of themselves", async () => {
    const page = fileURLToPath(new URL("../../../docs/reference/cli.md", import.meta.url));
    await expect(cliReference(program(io))).toMatchFileSnapshot(page);
  });
});

describe("every command", () => {
  const commands = leaves(program(io)).map((command) => [command.name(), command] as const);

  it.each(commands)("%s has --json and says what each option is", (_name, command) => {
    expect(command.options.map(({ long }) => long)).toContain("--json");
    for (const { description } of command.options) expect(description).not.toBe("");
    expect(command.description()).toMatch(/^[a-z].*[^.]$/s);
  });

  it("at the top has examples", () => {
    for (const command of program(io).commands) {
      let help = "";
      command.configureOutput({
        writeOut: (text) => {
          help += text;
        },
      });
      command.outputHelp();
      expect(help, command.name()).toContain("Examples:");
    }
  });
});
