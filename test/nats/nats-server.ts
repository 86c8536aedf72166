import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where `npm run nats:install` puts the program. It stays there for all working copies of the repository. */
export const CACHED_SERVER: string = join(homedir(), ".cache", "sluice", "nats-server");

export type NatsServer =
  | { readonly kind: "found"; readonly path: string; readonly version: string }
  | { readonly kind: "missing"; readonly reason: string };

/** The version that a program prints, such as `2.10.27`, or undefined if it cannot be run. */
export function versionOf(path: string): string | undefined {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  return /v(\d+\.\d+\.\d+)/.exec(stdout ?? "")?.[1];
}

/** Older servers cannot be told to sync before they acknowledge. */
function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 10);
}

/** Finds a server that the tests can use: `SLUICE_NATS_SERVER`, one that is installed, or the one of `npm run nats:install`. */
export function findNatsServer(): NatsServer {
  const named = process.env.SLUICE_NATS_SERVER;
  for (const path of named === undefined ? ["nats-server", CACHED_SERVER] : [named]) {
    const version = versionOf(path);
    if (version !== undefined && isNewEnough(version)) return { kind: "found", path, version };
  }
  return { kind: "missing", reason: "needs nats-server 2.10 or newer: npm run nats:install (on Debian)" };
}
