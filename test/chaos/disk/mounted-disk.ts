import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";

/** A disk of its own for a data folder. */
export interface MountedDisk {
  readonly mountPoint: string;
  /** The file with the disk's blocks. Undefined for one in memory. */
  readonly image: string | undefined;
  unmount(): void;
}

/** A small disk in memory, to fill. */
export function mountInMemory(mountPoint: string, megabytes: number): MountedDisk {
  mkdirSync(mountPoint, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "none", mountPoint]);
  return { mountPoint, image: undefined, unmount: () => void execFileSync("umount", ["-l", mountPoint]) };
}

export function makeImage(image: string, megabytes: number): void {
  writeFileSync(image, "");
  truncateSync(image, megabytes << 20);
  execFileSync("mkfs.ext4", ["-q", "-F", image]);
}

/** Mounts a file with an ext4 file system. Its own flushing by time is set far off, so that only syncs reach the file. */
export function mountImage(image: string, mountPoint: string): MountedDisk {
  mkdirSync(mountPoint, { recursive: true });
  execFileSync("mount", ["-o", "loop,commit=600", image, mountPoint]);
  return { mountPoint, image, unmount: () => void execFileSync("umount", ["-l", mountPoint]) };
}
