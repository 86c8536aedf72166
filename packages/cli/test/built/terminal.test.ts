import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** The built command line in a pseudo-terminal, from `script` of util-linux. */
const SLUICE = fileURLToPath(new URL("../../bin/sluice.cjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-terminal-"));

class Terminal {
  readonly #child: ChildProcess;
  #text = "";
  readonly #waiting = new Set<() => void>();
  readonly ended: Promise<number | null>;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    // Without `exec`, the shell (dash) would handle Ctrl-C itself and exit with 130.
    const command = `exec ${[process.execPath, SLUICE, ...args].map((part) => `'${part}'`).join(" ")}`;
    this.#child = spawn("script", ["-qefc", command, "/dev/null"], {
      cwd: folder,
      env: {
        ...process.env,
        NO_COLOR: "",
        FORCE_COLOR: "",
        TERM: "xterm-256color",
        SHELL: "/bin/sh",
        ...env,
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#text += chunk.toString();
      for (const look of this.#waiting) look();
    });
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
  }

  get text(): string {
    return this.#text;
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  shows(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = pattern.exec(this.#text);
        if (found === null) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }
}

const CTRL_C = "\u0003";
let dev: Terminal;

beforeAll(async () => {
  dev = new Terminal(["dev", "--port", "0"]);
  await dev.shows(/Press Ctrl-C to stop/);
});

afterAll(async () => {
  dev.type(CTRL_C);
  await dev.ended;
  rmSync(folder, { recursive: true, force: true });
});

describe("in a terminal", () => {
  it("sluice dev shows address, write key, snippet and curl line", () => {
    expect(dev.text).toMatch(/http:\/\/127\.0\.0\.1:\d+\/#token=slt_/);
    expect(dev.text).toContain('import { Analytics } from "@sluice/node"');
    expect(dev.text).toContain("curl http://127.0.0.1:");
    expect(dev.text).toContain("\u001b[1m");
  });

  it("uses colour unless NO_COLOR is set", async () => {
    const colored = new Terminal(["send", "track", "--event", "Seen"]);
    expect(await colored.ended).toBe(0);
    expect(colored.text).toContain("\u001b[32maccepted\u001b[39m");
    const plain = new Terminal(["send", "track", "--event", "Seen"], { NO_COLOR: "1" });
    await plain.ended;
    expect(plain.text).not.toContain("\u001b");
  });

  it("tail escapes the contents of events, and ends at Ctrl-C", async () => {
    const tail = new Terminal(["tail", "--last", "1", "event:Evil*"], { NO_COLOR: "1" });
    const sent = new Terminal(["send", "track", "--event", "Evil \u001b]0;title\u0007 \u202e"]);
    await sent.ended;
    await tail.shows(/Evil \\u001b\]0;title\\u0007 \\u202e/);
    tail.type(CTRL_C);
    expect(await tail.ended).toBe(0);
    expect(tail.text.replaceAll(/\^C|[\r\n]/g, "")).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it("listen escapes the contents of webhooks, and ends at Ctrl-C", async () => {
    const listen = new Terminal(["listen", "--port", "0", "--connect"], { NO_COLOR: "1" });
    await listen.shows(/listening on/);
    const hostile = "Evil \u001b[2J\u001b]52;c;aGk=\u0007 \u009b31m \u202e";
    const properties = JSON.stringify({ [hostile]: hostile });
    const sent = new Terminal(["send", "track", "--event", hostile, "--properties", properties]);
    expect(await sent.ended).toBe(0);
    await listen.shows(/signed/);
    await listen.shows(/"Evil \\u001b\[2J/);
    listen.type(CTRL_C);
    expect(await listen.ended).toBe(0);
    expect(listen.text.replaceAll(/\^C|[\r\n]/g, "")).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it("has different exit codes for different failures", async () => {
    const wrong = new Terminal(["tail", "colour:red"]);
    expect(await wrong.ended).toBe(2);
    const unknown = new Terminal(["messages", "get", "none"]);
    expect(await unknown.ended).toBe(5);
  });

  it("import shows its progress", async () => {
    const line = (i: number) => JSON.stringify({ type: "track", event: "Bulk", userId: String(i) });
    writeFileSync(join(folder, "bulk.jsonl"), Array.from({ length: 5_000 }, (_, i) => line(i)).join("\n"));
    const bulk = new Terminal(["import", "bulk.jsonl"]);
    expect(await bulk.ended).toBe(0);
    expect(bulk.text).toMatch(/█+░* +\d+ % {2}[\d,]+ messages {2}[\d,]+\/s/);
    expect(bulk.text).toContain("imported");
  });
});
