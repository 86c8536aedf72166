import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasStrace, temporaryDirectories } from "@sluice/event-log/testing";
import { describe, expect, it } from "vitest";
import { writeDurably } from "../../src/process/write-durably.js";

const temporaryDirectory = temporaryDirectories();
const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CALLS = "trace=rename,renameat,renameat2,link,linkat,fsync,fdatasync";

/** Runs code that imports from `src/`, and returns what it synced, renamed and linked, in order. */
function traced(code: string): string[] {
  const trace = join(temporaryDirectory(), "trace");
  const under = ["-f", "-q", "-y", "-e", CALLS, "-o", trace];
  execFileSync(
    "strace",
    [...under, process.execPath, "--no-warnings", "--import", LOADER, "--input-type=module", "-e", code],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  return readFileSync(trace, "utf8").split("\n");
}

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** After a power cut, a renamed file may be empty unless it was synced before, and its name is in the folder only if that was synced. */
describe.skipIf(!hasStrace())(
  "files of the first start are on disk before they are used (needs strace)",
  () => {
    it.each([
      [
        "a token's file",
        (folder: string) =>
          `import { writeDurably } from ${source("process/write-durably.ts")};
         await writeDurably(${JSON.stringify(join(folder, "admin-token"))}, "token");`,
        /admin-token\.new>\)/,
        /rename\w*\(.*admin-token"/,
      ],
      [
        "the secret key",
        (folder: string) =>
          `import { openSecretKey } from ${source("destinations/secret-box.ts")};
         await openSecretKey({ fromEnvironment: undefined, file: ${JSON.stringify(join(folder, "secret.key"))}, sealedFor: async () => [] });`,
        /secret\.key\.\S+>\)/,
        /link\w*\(.*secret\.key"/,
      ],
    ])("%s", (_what, code, contents, name) => {
      const folder = temporaryDirectory();
      const calls = traced(code(folder));
      const synced = calls.findIndex((call) => /f(data)?sync\(/.test(call) && contents.test(call));
      const named = calls.findIndex((call) => name.test(call));
      const folderSynced = calls.findLastIndex(
        (call) => call.includes(`sync(`) && call.includes(`<${folder}>`),
      );
      expect(synced).toBeGreaterThanOrEqual(0);
      expect(named).toBeGreaterThan(synced);
      expect(folderSynced).toBeGreaterThan(named);
    });
  },
);

it("replaces a file as a whole, readable only by its owner", async () => {
  const file = join(temporaryDirectory(), "dev.json");
  await writeDurably(file, "the first and longer text");
  await writeDurably(file, "the second");
  expect(readFileSync(file, "utf8")).toBe("the second");
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
