import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Format } from "./bundlers.ts";
import { WORKERD } from "./tools.ts";

export interface WorkerFile {
  /** A file name in the folder. */
  readonly file: string;
  readonly format: Format;
  /** Compatibility flags. Default: none. */
  readonly flags?: readonly string[];
}

export interface RunningWorkerd {
  /** Worker file → the base URL at which it responds. */
  readonly urls: ReadonlyMap<string, string>;
  /** What workerd has printed to stderr. */
  readonly stderr: () => string;
  close(): Promise<void>;
}

/** Runs Workers in Cloudflare's open-source runtime, each on a free port of 127.0.0.1. */
export async function runWorkers(
  folder: string,
  workers: readonly WorkerFile[],
  variables: Readonly<Record<string, string>>,
): Promise<RunningWorkerd> {
  writeFileSync(join(folder, "workerd.capnp"), configOf(workers, variables));
  const child = spawn(WORKERD, ["serve", "workerd.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const urls = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const { event, socket, port } = JSON.parse(line) as { event: string; socket: string; port: number };
    if (event === "listen") urls.set(socket, `http://127.0.0.1:${port}`);
    if (urls.size === workers.length) break;
  }
  if (urls.size < workers.length) throw new Error(`workerd ended: ${stderr}`);
  return {
    urls,
    stderr: () => stderr,
    close: () => {
      child.kill();
      return ended;
    },
  };
}

function configOf(workers: readonly WorkerFile[], variables: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(variables)
    .map(([name, value]) => `(name = "${name}", text = "${value}")`)
    .join(", ");
  const services = workers.map(
    ({ file, format, flags = [] }) => `(name = "${file}", worker = (
      modules = [${modulesOf(file, format)}],
      compatibilityDate = "2025-08-01",
      compatibilityFlags = ${JSON.stringify(flags)},
      bindings = [${bindings}],
      globalOutbound = "network"
    ))`,
  );
  const sockets = workers.map(
    ({ file }) => `(name = "${file}", address = "127.0.0.1:0", http = (), service = "${file}")`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${services.join(", ")}, (name = "network", network = (allow = ["private"]))],
  sockets = [${sockets.join(", ")}]
);`;
}

/** A Worker starts with an ES module, which may import a CommonJS module. */
function modulesOf(file: string, format: Format): string {
  if (format === "esm") return `(name = "${file}", esModule = embed "${file}")`;
  return `(name = "main.js", esModule = "import worker from './${file}'; export default worker.default ?? worker;"),
    (name = "${file}", commonJsModule = embed "${file}")`;
}
