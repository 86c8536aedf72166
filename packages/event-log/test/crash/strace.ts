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

/** The calls with which SQLite syncs files. Which one it uses depends on its build. */
export const SYNCS = "fsync,fdatasync";

/** Runs a process so that its system calls `calls` are tampered with: see "Tampering" in strace's manual. */
export function tampering(calls: string, how: string): string[] {
  const traced = ["-e", `trace=${calls}`, "-e", `inject=${calls}:${how}`];
  return ["strace", "-f", "-q", "--seccomp-bpf", "-o", "/dev/null", ...traced];
}
