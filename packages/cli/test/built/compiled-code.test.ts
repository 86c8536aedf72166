import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../../bin/sluice.cjs", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-compiled-"));
  for (const name of ["bin", "dist"]) mkdirSync(join(folder, name));
  cpSync(BIN, join(folder, "bin/sluice.cjs"));
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(folder, "dist/main.js"), 'exports.main = () => console.log("started");');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function start(more: Record<string, string> = {}): string {
  const {
    NODE_COMPILE_CACHE: _,
    NODE_DISABLE_COMPILE_CACHE: _off,
    NODE_OPTIONS: _options,
    ...env
  } = process.env;
  return execFileSync("sh", ["-c", 'umask 000; exec "$0" bin/sluice.cjs', process.execPath], {
    ...{ cwd: folder, encoding: "utf8", env: { ...env, ...more } },
  }).trim();
}

const CACHE = "node_modules/.cache/compiled";
const modeOf = (name: string): string => (statSync(join(folder, name)).mode & 0o777).toString(8);

describe.skipIf(process.platform === "win32")("compiled code", () => {
  it("is kept where no other user can put code, whatever the umask", () => {
    expect(start()).toBe("started");
    expect(readdirSync(join(folder, CACHE))).toHaveLength(1);
    expect([modeOf("node_modules"), modeOf("node_modules/.cache"), modeOf(CACHE)]).toEqual([
      "755",
      "755",
      "700",
    ]);
  });

  it("is thrown away if another user could have written it", () => {
    mkdirSync(join(folder, CACHE), { recursive: true });
    writeFileSync(join(folder, CACHE, "planted"), "");
    chmodSync(join(folder, CACHE), 0o777);
    expect(start()).toBe("started");
    expect(modeOf(CACHE)).toBe("700");
    expect(existsSync(join(folder, CACHE, "planted"))).toBe(false);
  });

  it("is not kept where a folder cannot be made, is named by a variable, or is not wanted", () => {
    expect(start({ NODE_COMPILE_CACHE: join(folder, "elsewhere") })).toBe("started");
    expect(start({ NODE_DISABLE_COMPILE_CACHE: "1" })).toBe("started");
    expect(existsSync(join(folder, "node_modules"))).toBe(false);
    writeFileSync(join(folder, "node_modules"), "not a folder");
    expect(start()).toBe("started");
  });
});
