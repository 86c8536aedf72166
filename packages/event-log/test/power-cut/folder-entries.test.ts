import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { Ledger, startChild } from "../crash/ledger.js";
import { hasStrace } from "../crash/strace.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

/** What a process made and synced in folders, in order, up to its first acknowledgment, as strace wrote it down. */
function readTrace(text: string): { readonly made: string; readonly isSyncedAfter: boolean }[] {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => /write\(1<[^>]*>, "a /.test(line));
  expect(end).toBeGreaterThan(0);
  const before = lines.slice(0, end);
  return before.flatMap((line, at) => {
    const made =
      /openat\(.*, "([^"]+)", [^)]*O_CREAT.*\) = \d+/.exec(line)?.[1] ??
      /mkdir(?:at)?\((?:AT_FDCWD[^,]*, )?"([^"]+)", [^)]*\) = 0/.exec(line)?.[1];
    if (made === undefined) return [];
    const folder = dirname(made);
    const isSyncedAfter = before
      .slice(at)
      .some((later) => new RegExp(`f(data)?sync\\(\\d+<${folder}>`).test(later));
    return [{ made, isSyncedAfter }];
  });
}

/**
 * A file that is synced has its contents on disk. Its name is in the folder, which is to be synced too: on file systems that
 * keep the two apart the file is gone after a power cut. (ext4, on which the power cuts run, writes both with one sync.)
 */
it.skipIf(!hasStrace())(
  "the folder's entries of all that was made are synced before anything is acknowledged (needs strace)",
  { timeout: 120_000 },
  async () => {
    const root = temporaryDirectory();
    const directory = join(root, "var", "data");
    const trace = join(root, "trace");
    const calls = "trace=openat,mkdir,mkdirat,fsync,fdatasync,write";
    const under = ["strace", "-f", "-q", "-y", "-s", "8", "--seccomp-bpf", "-e", calls, "-o", trace];
    const child = startChild({ directory, run: "f", appends: 20 }, new Ledger(), under);
    await child.ended;

    const made = readTrace(readFileSync(trace, "utf8")).filter((one) => one.made.startsWith(root));
    const names = made.map((one) => one.made);
    expect(names).toEqual(
      expect.arrayContaining([
        dirname(directory),
        directory,
        join(directory, "sluice.db"),
        join(directory, "sluice.db-wal"),
        join(directory, "entries.log.new"),
      ]),
    );
    expect(made.filter(({ isSyncedAfter }) => !isSyncedAfter)).toEqual([]);
  },
);
