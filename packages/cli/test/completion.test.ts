import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { cli } from "./cli.js";

async function script(shell: string): Promise<string> {
  const running = cli(["completion", shell]);
  expect(await running.code).toBe(0);
  return running.out();
}

/** What bash would offer for a line. */
async function completions(line: string): Promise<string[]> {
  const words = line.split(" ");
  const commands = `${await script("bash")}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_sluice
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", commands], { encoding: "utf8" }).trim().split("\n");
}

describe("completion in bash", () => {
  it.each([
    ["the commands", "sluice de", ["dev", "destinations", "deliveries"]],
    ["commands below a command", "sluice destinations cr", ["create"]],
    ["options of a command", "sluice tail --la", ["--last"]],
    ["after an option that stands between", "sluice send --json --ev", ["--event"]],
  ])("offers %s", async (_name, line, expected) => {
    const offered = await completions(line);
    for (const word of expected) expect(offered).toContain(word);
  });
});

it("for zsh is the same behind zsh's own loader, for fish a list", async () => {
  expect(await script("zsh")).toMatch(/^#compdef sluice\n/);
  expect(await script("fish")).toContain("complete -c sluice -n '__sluice_at destinations' -f -a create");
});

it("refuses a shell it does not know", async () => {
  expect(await cli(["completion", "cmd"]).code).toBe(2);
});
