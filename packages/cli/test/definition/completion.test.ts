import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cli } from "../support/cli.js";

async function script(shell: string): Promise<string> {
  const running = cli(["completion", shell]);
  expect(await running.code).toBe(0);
  return running.out();
}

/** The completions that bash offers for a line. */
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
    ["options after another option", "sluice send --json --ev", ["--event"]],
  ])("offers %s", async (_name, line, expected) => {
    const offered = await completions(line);
    for (const word of expected) expect(offered).toContain(word);
  });
});

/** Tests of shells that are not installed are skipped. `.ci/run` installs both. */
const isInstalled = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

describe("completion in fish", () => {
  it.skipIf(!isInstalled("fish")).each([
    [
      "the commands with their descriptions",
      "sluice de",
      ["dev\trun a collector", "destinations\t", "deliveries\t"],
    ],
    ["commands below a command", "sluice destinations cr", ["create\t"]],
    ["options of a command", "sluice tail --la", ["--last\t"]],
    ["options after another option", "sluice send --json --ev", ["--event\t"]],
  ])("offers %s", async (_name, line, expected) => {
    const asked = "source (echo $argv[1] | psub); complete -C $argv[2]";
    const offered = execFileSync("fish", ["--no-config", "-c", asked, await script("fish"), line], {
      encoding: "utf8",
    }).split("\n");
    for (const beginning of expected)
      expect(offered).toContainEqual(expect.stringMatching(new RegExp(`^${beginning}`)));
  });
});

describe("completion in zsh", () => {
  it.skipIf(!isInstalled("zsh")).each([
    ["commands below a command", "sluice destinations cr\t", "destinations create"],
    ["options of a command", "sluice tail --la\t", "tail --last"],
    ["options after another option", "sluice send --json --ev\t", "send --json --event"],
  ])("completes %s when Tab is pressed", async (_name, keys, expected) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-zsh-"));
    writeFileSync(join(folder, "_sluice"), await script("zsh"));
    // The command prints the arguments it is called with.
    writeFileSync(
      join(folder, ".zshrc"),
      'autoload -Uz compinit && compinit -u -D\nsource ./_sluice\nsluice() { print -r -- "GOT<$*>"; exit }\nPS1="READY "\n',
    );
    const shell = spawn("script", ["-qefc", "exec zsh -i", "/dev/null"], {
      cwd: folder,
      env: { ...process.env, ZDOTDIR: folder, SHELL: "/bin/sh", TERM: "dumb" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let shown = "";
    let isAsked = false;
    shell.stdout.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
      if (isAsked || !shown.includes("READY ")) return;
      isAsked = true;
      shell.stdin.write(`${keys}\n`);
    });
    await once(shell, "close");
    rmSync(folder, { recursive: true });
    expect(/GOT<(.*)>/.exec(shown)?.[1]).toBe(expected);
  });
});

it("refuses an unknown shell", async () => {
  expect(await cli(["completion", "cmd"]).code).toBe(2);
});
