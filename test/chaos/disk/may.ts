import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { hasStrace } from "../../../packages/event-log/test/crash/strace.ts";

/** What a trouble needs of the machine. */
export type Need = "strace" | "mount" | "ext4" | "faketime";

/** The library that Debian's package `faketime` installs. */
export function faketimeLibrary(): string | undefined {
  return (
    globSync("/usr/lib/*/faketime/libfaketime.so.1")[0] ?? globSync("/usr/lib/faketime/libfaketime.so.1")[0]
  );
}

/** Why the machine cannot do it; undefined if it can. `isRefused`: the kernel does not permit it, so no package would help. */
export function missing(need: Need): { readonly reason: string; readonly isRefused: boolean } | undefined {
  switch (need) {
    case "strace":
      if (hasStrace()) return undefined;
      return hasProgram("strace")
        ? { reason: "processes may not be traced here", isRefused: true }
        : { reason: "strace is not installed", isRefused: false };
    case "mount":
      return mayMount() ? undefined : { reason: "needs root, to mount a small disk", isRefused: true };
    case "ext4":
      if (!mayMount() || !succeeds("losetup", ["--find"]))
        return { reason: "needs root and a loop device, to mount a disk", isRefused: true };
      return hasProgram("mkfs.ext4") ? undefined : { reason: "mkfs.ext4 is not installed", isRefused: false };
    case "faketime":
      return faketimeLibrary() === undefined
        ? { reason: "faketime is not installed", isRefused: false }
        : undefined;
  }
}

function mayMount(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0 && succeeds("unshare", ["--mount", "true"]);
}

function hasProgram(name: string): boolean {
  return succeeds("which", [name]);
}

function succeeds(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
