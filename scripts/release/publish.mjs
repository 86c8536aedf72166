/** Packs and publishes. The rehearsal runs the same code against a registry on this machine. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Runs npm. Fails with what it printed. */
export function npm(args, { cwd, env = process.env, stdio } = {}) {
  const { status, stdout, stderr, error } = spawnSync("npm", args, {
    cwd,
    env,
    encoding: "utf8",
    stdio,
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed\n${stdout ?? ""}${stderr ?? error ?? ""}`);
  return stdout;
}

/**
 * Packs packages into a folder, in one call. Answers the files, in the order of the packages.
 * @returns {{ name: string, version: string, file: string, size: number, unpackedSize: number, files: { path: string, size: number }[] }[]}
 */
export function pack(folders, { root, to, env }) {
  const output = npm(
    [
      "pack",
      "--json",
      "--ignore-scripts",
      "--pack-destination",
      to,
      ...folders.map((folder) => join(root, folder)),
    ],
    { cwd: to, env },
  );
  // npm 11 prints a list, npm 12 an object with the names as keys.
  const packed = Object.values(JSON.parse(output));
  return packed.map(({ name, version, filename, size, unpackedSize, files }) => {
    const file = join(to, filename.replace(/^@/, "").replace("/", "-"));
    return { name, version, file, size, unpackedSize, files };
  });
}

/** Publishes one tarball. `provenance`: with a signed statement of the commit and workflow that made it. */
export function publish(file, { cwd, env, provenance = false, stdio }) {
  npm(["publish", file, "--access", "public", ...(provenance ? ["--provenance"] : [])], { cwd, env, stdio });
}
