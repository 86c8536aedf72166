import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProgram {
  readonly ended: Promise<ProgramEnd>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when stdout contains `text`. */
  printed(text: string): Promise<void>;
}

/** Runs `source` as a module in another process, with `Analytics` of the built package and the collector's `url`. */
export function runProgram(
  source: string,
  { url, env = {}, flags = [] }: { url: string; env?: Record<string, string>; flags?: readonly string[] },
): RunningProgram {
  const preamble = `import { Analytics } from "@sluice/node"; const url = ${JSON.stringify(url)};\n`;
  const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", preamble + source], {
    // Package names resolve from here, as in an application that has the package installed.
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const lookers = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (const look of lookers) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.on("close", (code, signal) => {
      for (const look of lookers) look();
      resolve({ code, signal, stdout, stderr });
    });
  });
  return {
    ended,
    kill: (signal) => {
      child.kill(signal);
    },
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (stdout.includes(text)) resolve();
          else if (child.exitCode !== null)
            reject(new Error(`The program ended without printing ${text}: ${stderr}`));
          else return;
          lookers.delete(look);
        };
        lookers.add(look);
        look();
      }),
  };
}
