import { execFileSync } from "node:child_process";

/** Whether processes can be traced here: strace is a Linux tool, and containers often forbid what it needs. */
export function hasStrace(): boolean {
  try {
    execFileSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** What SQLite syncs files with; which of the two depends on how it was built. */
export const SYNCS = "fsync,fdatasync";

/** Runs a process so that its system calls `calls` are tampered with: see "Tampering" in strace's manual. */
export function tampering(calls: string, how: string): string[] {
  const traced = ["-e", `trace=${calls}`, "-e", `inject=${calls}:${how}`];
  return ["strace", "-f", "-q", "--seccomp-bpf", "-o", "/dev/null", ...traced];
}
