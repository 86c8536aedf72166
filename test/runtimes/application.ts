import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { RUNTIMES, type RuntimeName } from "./tools.ts";

const root = resolve(import.meta.dirname, "../..");

/** A folder with the published files of the SDK in its `node_modules`, as after `npm install`. */
export interface Application {
  readonly folder: string;
  /** The path of a file in the folder. */
  path(name: string): string;
  /** Runs a file of the folder. Resolves with what it printed. Rejects if it fails. */
  run(runtime: RuntimeName, file: string, env: Record<string, string>): Promise<Printed>;
  remove(): void;
}

export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Creates an application with copies of the given source files. */
export function application(sources: readonly string[]): Application {
  const folder = mkdtempSync(join(tmpdir(), "sluice-runtimes-"));
  const modules = join(folder, "node_modules");
  for (const name of ["core", "node", "webhooks"]) {
    for (const published of ["package.json", "dist"]) {
      cpSync(join(root, "packages", name, published), join(modules, "@sluice", name, published), {
        recursive: true,
      });
    }
  }
  symlinkSync(join(root, "node_modules/undici"), join(modules, "undici"));
  mkdirSync(join(modules, "@vercel"));
  symlinkSync(
    join(import.meta.dirname, "node_modules/@vercel/functions"),
    join(modules, "@vercel/functions"),
  );
  for (const source of sources) cpSync(join(root, source), join(folder, basename(source)));
  return {
    folder,
    path: (name) => join(folder, name),
    run: (runtime, file, env) => run(runtime, file, env, folder),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const FLAGS: Partial<Record<RuntimeName, readonly string[]>> = {
  Deno: ["run", "--allow-all", "--no-check", "--node-modules-dir=manual"],
};

function run(
  runtime: RuntimeName,
  file: string,
  env: Record<string, string>,
  folder: string,
): Promise<Printed> {
  const child = spawn(RUNTIMES[runtime], [...(FLAGS[runtime] ?? []), file], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    printed.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`${runtime} ended with ${code}: ${printed.stdout}${printed.stderr}`));
    });
  });
}
